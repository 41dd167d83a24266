//! CA certificates in a file, reloaded when it changes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;
use tower::BoxError;

use super::identity::CHECK_INTERVAL;
use crate::config::certificates_from_pem;
use crate::file_version::FileVersion;

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

/// Counts the changes of the content of a CA file. New requests must not use a connection whose server was verified by other CA
/// certificates.
#[derive(Debug)]
pub(crate) struct CaEpoch(Option<(PathBuf, Mutex<CaEpochState>)>);

#[derive(Debug)]
struct CaEpochState {
    epoch: u64,
    version: Option<FileVersion>,
    content: Option<Vec<u8>>,
    checked_at: Option<Instant>,
}

impl CaEpoch {
    /// Of no file, a constant.
    pub(crate) fn of(path: Option<&Path>) -> Self {
        Self(path.map(|path| {
            let (version, content) = (FileVersion::of(path), std::fs::read(path).ok());
            (path.to_owned(), Mutex::new(CaEpochState { epoch: 0, version, content, checked_at: None }))
        }))
    }

    /// The epoch at `now`. A file that is missing changes nothing, and neither does one that is replaced by its own content, as the kubelet
    /// does with each new token.
    pub(crate) fn current(&self, now: Instant) -> u64 {
        let Some((path, state)) = &self.0 else { return 0 };
        let mut state = state.lock();
        if state.checked_at.is_none_or(|at| now.saturating_duration_since(at) >= CHECK_INTERVAL) {
            state.checked_at = Some(now);
            let version = FileVersion::of(path);
            if version.is_some() && version != state.version {
                state.version = version;
                let content = std::fs::read(path).ok();
                if content.is_some() && content != state.content {
                    state.content = content;
                    state.epoch += 1;
                }
            }
        }
        state.epoch
    }
}

impl<T> fmt::Debug for CaFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaFile").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_epoch_changes_with_the_content_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.crt");
        std::fs::write(&path, "one").unwrap();
        let epoch = CaEpoch::of(Some(&path));
        let mut now = Instant::now();
        let mut later = || {
            now += Duration::from_secs(10);
            epoch.current(now)
        };
        assert_eq!(later(), 0);
        let replace = |text: &str| {
            std::fs::write(folder.path().join("next"), text).unwrap();
            std::fs::rename(folder.path().join("next"), &path).unwrap();
        };
        replace("one");
        assert_eq!(later(), 0);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(later(), 0);
        replace("two");
        assert_eq!(later(), 1);
        assert_eq!(later(), 1);
        assert_eq!(CaEpoch::of(None).current(now), 0);
    }
}
