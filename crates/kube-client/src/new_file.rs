//! [`NewFile`]: replaces a file as a whole, so that no reader sees half of it. For the crates of this project.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The next content of a file: complete on the disk, under another name beside it. Dropping it removes that.
#[derive(Debug)]
pub struct NewFile {
    beside: PathBuf,
    target: PathBuf,
}

impl NewFile {
    /// Writes the content beside `target`, with the permissions of the file that it will replace. Blocks.
    ///
    /// # Errors
    /// Those of the file system. Then nothing is left.
    pub fn write(target: &Path, content: &[u8]) -> io::Result<Self> {
        let replaced = fs::metadata(target).ok();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // It may have secrets: nobody else may read it before it has the permissions.
        #[cfg(unix)]
        if replaced.is_some() {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let (mut file, new) = loop {
            let beside = hidden_name(target);
            match options.open(&beside) {
                Ok(file) => break (file, Self { beside, target: target.to_owned() }),
                // Left by a process of this number that was killed: in containers they all have the same.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        if let Some(replaced) = replaced {
            file.set_permissions(replaced.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        Ok(new)
    }

    /// The file that it will replace.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// Those of the file system. Then the old file is there, if there was one.
    pub fn rename(self) -> io::Result<()> {
        fs::rename(&self.beside, &self.target)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.beside); // after a renaming there is none
    }
}

/// Of this call alone.
fn hidden_name(target: &Path) -> PathBuf {
    static CALLS: AtomicU64 = AtomicU64::new(0);

    let (name, call) = (target.file_name().unwrap_or_default(), CALLS.fetch_add(1, Ordering::Relaxed));
    let process = std::process::id();
    target.with_file_name(format!(".{}.{process}-{call}.new", name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into()).collect()
    }

    #[test]
    fn the_old_file_is_there_until_the_renaming() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("a");
        fs::write(&target, "old").unwrap();
        drop(NewFile::write(&target, b"dropped").unwrap());
        let new = NewFile::write(&target, b"new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        new.rename().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        fs::create_dir(home.path().join("folder")).unwrap();
        fs::write(home.path().join("folder/file"), "").unwrap();
        NewFile::write(&home.path().join("folder"), b"no").unwrap().rename().unwrap_err();
        assert_eq!(names(home.path()).len(), 2, "nothing else is left");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let script = home.path().join("script");
        fs::write(&script, "old").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o751)).unwrap();
        NewFile::write(&script, b"new").unwrap().rename().unwrap();
        assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o751);
    }
}
