//! [`NewFile`]: replaces a file as a whole, so that no reader sees half of it. For the crates of this project.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// As many as Linux follows.
const MAX_LINKS: usize = 40;

/// The next content of a file: complete on the disk, under another name beside it. Dropping it removes that. A symbolic link stays: the
/// file that it leads to is replaced.
#[derive(Debug)]
pub struct NewFile {
    beside: PathBuf,
    target: PathBuf,
}

impl NewFile {
    /// Writes the content beside `target`, or what it leads to, with the permissions of the file that it will replace. Blocks.
    ///
    /// # Errors
    /// Those of the file system, and links that lead to each other. Then nothing is left.
    pub fn write(target: &Path, content: &[u8]) -> io::Result<Self> {
        let target = &*followed(target)?;
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

/// Whether the content of a file is this text. Line ends may be those of Windows, as Git checks files out there.
#[must_use]
pub fn has_text(content: &[u8], text: &str) -> bool {
    let is_checked_out = || {
        let lines = content.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.eq(text.as_bytes().split(|byte| *byte == b'\n'))
    };
    content == text.as_bytes() || is_checked_out()
}

/// What symbolic links lead to, be it there or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            // It is no link, or is not there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other(format!("expected at most {MAX_LINKS} symbolic links, one leading to the next")))
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
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        use std::os::unix::fs::symlink;
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::create_dir(path("elsewhere")).unwrap();
        fs::write(path("elsewhere/file"), "old").unwrap();
        symlink("elsewhere/second", path("first")).unwrap();
        symlink("../elsewhere/file", path("elsewhere/second")).unwrap();
        symlink("elsewhere/later", path("dangling")).unwrap();
        symlink("loop", path("loop")).unwrap();
        for (link, file) in [("first", "elsewhere/file"), ("dangling", "elsewhere/later")] {
            let new = NewFile::write(&path(link), b"new").unwrap();
            assert_eq!(new.target().file_name(), path(file).file_name());
            new.rename().unwrap();
            assert_eq!(fs::read_to_string(path(file)).unwrap(), "new");
            assert!(path(link).symlink_metadata().unwrap().is_symlink(), "{link}");
        }
        let error = NewFile::write(&path("loop"), b"new").unwrap_err().to_string();
        assert!(error.starts_with("expected at most 40 symbolic links"), "{error}");
        assert_eq!(names(home.path()).len(), 4, "nothing else is left");
        assert_eq!(names(&path("elsewhere")).len(), 3, "nothing else is left");
    }

    #[test]
    fn line_ends_of_windows_are_the_same_text() {
        for (content, same) in [
            ("a\n\nb\n", true),
            ("a\r\n\r\nb\r\n", true),
            ("a\n\nb", false),
            ("a\r\n\r\nc\r\n", false),
            ("a\r\r\n\nb\n", false),
        ] {
            assert_eq!(has_text(content.as_bytes(), "a\n\nb\n"), same, "{content:?}");
        }
        assert!(has_text(b"a\r\n", "a\r\n"), "a text may have such line ends itself");
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
