//! [`Batch`]: files that are replaced all or none.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Files that are complete under temporary names. Until [`rename`](Batch::rename) nothing has changed, and dropping the batch removes them.
#[derive(Debug, Default)]
pub struct Batch {
    complete: Vec<(NamedTempFile, PathBuf)>,
}

/// What the operating system refused.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct Refused {
    /// The file or folder.
    pub path: PathBuf,
    /// The reason.
    pub source: std::io::Error,
}

impl Batch {
    /// Writes the text beside `target`, with the permissions of the file that it will replace. Missing folders are made.
    pub fn add(&mut self, target: &Path, text: &[u8]) -> Result<(), Refused> {
        let parent =
            target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(|source| refused(parent, source))?;
        let file = temporary(parent, target, text).map_err(|source| refused(target, source))?;
        self.complete.push((file, target.to_owned()));
        Ok(())
    }

    /// Gives all files their names. If one renaming fails, those before it are done.
    pub fn rename(self) -> Result<(), Refused> {
        for (file, target) in self.complete {
            file.persist(&target).map_err(|err| refused(&target, err.error))?;
        }
        Ok(())
    }
}

fn temporary(parent: &Path, target: &Path, text: &[u8]) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cargo-kube-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666)); // less the process's umask
    }
    let mut file = builder.tempfile_in(parent)?;
    file.write_all(text)?;
    if let Ok(metadata) = target.metadata() {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    Ok(file)
}

fn refused(path: &Path, source: std::io::Error) -> Refused {
    Refused { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_changes_before_all_files_are_complete() {
        let home = tempfile::tempdir().unwrap();
        let (first, second) = (home.path().join("first"), home.path().join("first/second"));
        std::fs::write(&first, "old").unwrap();
        let mut batch = Batch::default();
        batch.add(&first, b"new").unwrap();
        let error = batch.add(&second, b"new").unwrap_err();
        assert!(error.to_string().starts_with(&format!("{}: ", first.display())), "{error}");
        drop(batch);
        assert_eq!(std::fs::read_to_string(&first).unwrap(), "old");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let script = home.path().join("script");
        std::fs::write(&script, "old").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o751)).unwrap();
        let mut batch = Batch::default();
        batch.add(&script, b"new").unwrap();
        batch.rename().unwrap();
        assert_eq!(std::fs::read_to_string(&script).unwrap(), "new");
        assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o751);
    }
}
