//! CA certificates in a file, reloaded when it changes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tower::BoxError;

use super::file_version::FileVersion;
use crate::config::certificates_from_pem;

/// CA certificates in a file, converted by a TLS library to `T` and reloaded when the file changes.
///
/// Clusters rotate the CA certificates of their pods. The file's metadata is read once per connection. A file that cannot be used
/// leaves the previous certificates in force.
pub(super) struct CaFile<T> {
    path: PathBuf,
    convert: Convert<T>,
    current: RwLock<(Option<FileVersion>, Arc<T>)>,
}

type Convert<T> = Box<dyn Fn(&[Vec<u8>]) -> Result<T, BoxError> + Send + Sync>;

impl<T> CaFile<T> {
    /// The file must be valid now, unless the configuration has already read its content (`already_read`).
    ///
    /// Errors contain the path.
    pub(super) fn new(
        path: PathBuf,
        already_read: Option<&[Vec<u8>]>,
        convert: impl Fn(&[Vec<u8>]) -> Result<T, BoxError> + Send + Sync + 'static,
    ) -> Result<Self, BoxError> {
        let current = match (load(&path, &convert), already_read) {
            (Ok(loaded), _) => loaded,
            (Err(_), Some(certificates)) => (None, Arc::new(convert(certificates)?)),
            (Err(err), None) => return Err(err),
        };
        Ok(Self { path, convert: Box::new(convert), current: RwLock::new(current) })
    }

    /// The certificates in the file.
    pub(super) fn current(&self) -> Arc<T> {
        let (version, known) = {
            let current = self.current.read();
            (current.0, Arc::clone(&current.1))
        };
        let now = FileVersion::of(&self.path);
        if now.is_none() || now == version {
            return known;
        }
        match load(&self.path, &self.convert) {
            Ok(loaded) => {
                tracing::info!(path = %self.path.display(), "CA certificates reloaded");
                let made = Arc::clone(&loaded.1);
                *self.current.write() = loaded;
                made
            }
            Err(err) => {
                tracing::warn!(error = %err, "changed CA certificates cannot be used, keeping the previous ones");
                known
            }
        }
    }
}

fn load<T>(
    path: &Path,
    convert: impl Fn(&[Vec<u8>]) -> Result<T, BoxError>,
) -> Result<(Option<FileVersion>, Arc<T>), BoxError> {
    let with_path = |err: &dyn fmt::Display| BoxError::from(format!("{}: {err}", path.display()));
    // The version is read first, so that a change while reading is detected the next time.
    let version = FileVersion::of(path);
    let pem = std::fs::read(path).map_err(|err| with_path(&err))?;
    let certificates = certificates_from_pem(&pem).map_err(|err| with_path(&err))?;
    Ok((version, Arc::new(convert(&certificates).map_err(|err| with_path(&err))?)))
}

impl<T> fmt::Debug for CaFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaFile").field("path", &self.path).finish_non_exhaustive()
    }
}
