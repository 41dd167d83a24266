//! The kubeconfig for the user: at one path in all sessions, so that a shell knows it already.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// A file of the user alone, for an administrator of the embedded server. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct UserKubeconfig {
    path: PathBuf,
    /// Locked as long as the session lasts, however it ends.
    _file: File,
}

impl UserKubeconfig {
    /// Writes the text to the usual path, or, while another session has that, to the other one.
    pub(super) fn write(usual: &Path, other: &Path, text: &str) -> Result<Self> {
        let (path, mut file) = match open(usual).with_context(|| usual.display().to_string())? {
            Some(file) => (usual, file),
            None => (other, File::create(other).with_context(|| other.display().to_string())?),
        };
        let mut write = || file.set_len(0).and_then(|()| file.write_all(text.as_bytes()));
        write().with_context(|| path.display().to_string())?;
        Ok(Self { path: path.to_owned(), _file: file })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// `None` if another process has locked it. What a killed one has left is not locked.
fn open(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) if path.exists() => return Ok(Some(file)),
            // The session that had it has removed it since it was opened.
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
            Err(std::fs::TryLockError::Error(err)) => return Err(err),
        }
    }
}

impl Drop for UserKubeconfig {
    fn drop(&mut self) {
        // One that is left leads to no server, and the next session replaces it.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_the_same_unless_another_session_has_it() {
        let home = tempfile::tempdir().unwrap();
        let (usual, other) = (home.path().join("usual"), home.path().join("other"));
        let write = |text: &str| UserKubeconfig::write(&usual, &other, text).unwrap();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        // A session that was killed has left more.
        std::fs::write(&usual, "a longer text").unwrap();
        let first = write("first");
        let second = write("second");
        assert_eq!((first.path(), second.path()), (&*usual, &*other));
        assert_eq!((read(&usual), read(&other)), ("first".to_owned(), "second".to_owned()));
        drop((first, second));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);

        let third = write("third");
        assert_eq!((third.path(), read(&usual)), (&*usual, "third".to_owned()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(usual.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
