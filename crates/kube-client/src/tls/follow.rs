//! The authorities in a file that may change.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::stamp::{Stamp, stamp_of};
use crate::config::certificates_from_pem;

/// Authorities in a file, in whatever form `T` a TLS library wants them, made anew when the file changes.
///
/// Clusters replace the authorities of their pods now and then. The file is looked at for each connection; those are rare, so the look
/// costs nothing that counts. A change that cannot be used leaves what was there.
pub(super) struct FollowedAuthorities<T> {
    path: PathBuf,
    make: Make<T>,
    current: RwLock<(Option<Stamp>, Arc<T>)>,
}

type Cause = Box<dyn Error + Send + Sync>;
type Make<T> = Box<dyn Fn(&[Vec<u8>]) -> Result<T, Cause> + Send + Sync>;

impl<T> FollowedAuthorities<T> {
    /// The file has to be good at the start, unless the configuration has already read it.
    ///
    /// Errors name the file.
    pub(super) fn new(
        path: PathBuf,
        already_read: Option<&[Vec<u8>]>,
        make: impl Fn(&[Vec<u8>]) -> Result<T, Cause> + Send + Sync + 'static,
    ) -> Result<Self, Cause> {
        let current = match (load(&path, &make), already_read) {
            (Ok(loaded), _) => loaded,
            (Err(_), Some(certificates)) => (None, Arc::new(make(certificates)?)),
            (Err(err), None) => return Err(err),
        };
        Ok(Self { path, make: Box::new(make), current: RwLock::new(current) })
    }

    /// What the file holds now.
    pub(super) fn current(&self) -> Arc<T> {
        let (stamp, known) = {
            // What is stored is whole, so a panic elsewhere leaves it usable.
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            (current.0, Arc::clone(&current.1))
        };
        let now = stamp_of(&self.path);
        if now.is_none() || now == stamp {
            return known;
        }
        match load(&self.path, &self.make) {
            Ok(loaded) => {
                tracing::debug!(path = %self.path.display(), "certificate authorities have changed");
                let made = Arc::clone(&loaded.1);
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = loaded;
                made
            }
            Err(err) => {
                tracing::warn!(error = %err, "changed certificate authorities cannot be used");
                known
            }
        }
    }
}

fn load<T>(
    path: &Path,
    make: impl Fn(&[Vec<u8>]) -> Result<T, Cause>,
) -> Result<(Option<Stamp>, Arc<T>), Cause> {
    let named = |err: &dyn fmt::Display| Cause::from(format!("{}: {err}", path.display()));
    // The stamp first: a change between the two is then seen the next time.
    let stamp = stamp_of(path);
    let pem = std::fs::read(path).map_err(|err| named(&err))?;
    let certificates = certificates_from_pem(&pem).map_err(|err| named(&err))?;
    Ok((stamp, Arc::new(make(&certificates).map_err(|err| named(&err))?)))
}

impl<T> fmt::Debug for FollowedAuthorities<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedAuthorities").field("path", &self.path).finish_non_exhaustive()
    }
}
