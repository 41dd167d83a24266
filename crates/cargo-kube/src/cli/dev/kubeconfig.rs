//! The kubeconfig for the user: at one path in all sessions, so that a shell knows it already.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// A file of the user alone, for an administrator of the embedded server. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct UserKubeconfig {
    path: PathBuf,
    /// That of this session alone.
    text: String,
    /// As long as the session lasts, however it ends. `None` at the other path.
    _lock: Option<File>,
}

impl UserKubeconfig {
    /// Writes the text to the usual path, or, while another session has that or it cannot be locked, to the other one.
    pub(super) fn write(usual: &Path, other: &Path, text: &str) -> Result<Self> {
        let lock = lock(usual);
        let path = if lock.is_some() { usual } else { other };
        replace(path, text).with_context(|| path.display().to_string())?;
        Ok(Self { path: path.to_owned(), text: text.to_owned(), _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Locks a file beside it, which stays: on Windows, nobody else can read a locked one. `None` if another session has locked it, or the
/// file system has no locks. What a killed session has left is not locked.
fn lock(path: &Path) -> Option<File> {
    let mut name = path.file_name()?.to_owned();
    name.push(".lock");
    let file = File::create(path.with_file_name(name)).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// By a new file, so that the permissions of the one before do not count.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file =
        tempfile::Builder::new().prefix(".kubeconfig-").tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

impl Drop for UserKubeconfig {
    fn drop(&mut self) {
        // After `cargo clean`, another session may have its own there.
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            // One that is left leads to no server, and the next session replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[cfg(unix)]
    fn is_private(path: &Path) -> bool {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().unwrap().permissions().mode() & 0o777 == 0o600
    }

    #[cfg(not(unix))]
    fn is_private(_: &Path) -> bool {
        true
    }

    #[test]
    fn the_path_is_the_same_unless_another_session_has_it() {
        let home = tempfile::tempdir().unwrap();
        let (usual, other) = (home.path().join("usual"), home.path().join("other"));
        let write = |text: &str| UserKubeconfig::write(&usual, &other, text).unwrap();
        // A session that was killed has left more, and others may read it.
        std::fs::write(&usual, "a longer text").unwrap();
        let first = write("first");
        assert!(is_private(&usual));
        let second = write("second");
        assert!(is_private(&other));
        assert_eq!((first.path(), second.path()), (&*usual, &*other));
        assert_eq!((read(&usual), read(&other)), ("first".to_owned(), "second".to_owned()));
        drop((first, second));
        assert!(!usual.exists() && !other.exists());

        let third = write("third");
        assert_eq!((third.path(), read(&usual)), (&*usual, "third".to_owned()));
        drop(third);
        let left: Vec<_> =
            std::fs::read_dir(home.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["usual.lock"]);
    }

    #[test]
    fn a_folder_without_locks_ends_no_session() {
        let home = tempfile::tempdir().unwrap();
        let (usual, other) = (home.path().join("usual"), home.path().join("other"));
        std::fs::create_dir(home.path().join("usual.lock")).unwrap();
        let kubeconfig = UserKubeconfig::write(&usual, &other, "text").unwrap();
        assert_eq!((kubeconfig.path(), read(&other)), (&*other, "text".to_owned()));
        assert!(!usual.exists());
    }

    #[test]
    fn the_file_of_a_later_session_stays() {
        let home = tempfile::tempdir().unwrap();
        let (target, other) = (home.path().join("target"), home.path().join("other"));
        let usual = target.join("usual");
        let write = |text: &str| {
            std::fs::create_dir(&target).unwrap();
            UserKubeconfig::write(&usual, &other, text).unwrap()
        };
        let first = write("first");
        // `cargo clean`
        std::fs::remove_dir_all(&target).unwrap();
        let second = write("second");
        drop(first);
        assert_eq!((second.path(), read(&usual)), (&*usual, "second".to_owned()));
    }
}
