//! [`Batch`]: files that are all complete before the first of them is replaced.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use kube_client::new_file::NewFile;

/// Changes of files. Until [`apply`](Batch::apply) no file has changed: the new files are complete under temporary names, which go with the
/// batch; folders that were missing stay. A full disk or a missing permission is so noticed before the first change.
#[derive(Debug, Default)]
pub struct Batch {
    complete: Vec<NewFile>,
    removed: Vec<PathBuf>,
}

/// What the operating system refused.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct Refused {
    /// The file or folder.
    pub path: PathBuf,
    /// The reason.
    pub source: Error,
}

impl Batch {
    /// Writes the text beside `target`, with the permissions of the file that it will replace. Missing folders are made.
    pub fn add(&mut self, target: &Path, text: &[u8]) -> Result<(), Refused> {
        if target.is_dir() {
            return Err(refused(target, ErrorKind::IsADirectory.into()));
        }
        let parent =
            target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(|source| refused(parent, source))?;
        self.complete.push(NewFile::write(target, text).map_err(|source| refused(target, source))?);
        Ok(())
    }

    /// Removes a file, if it is there then.
    pub fn remove(&mut self, target: PathBuf) {
        self.removed.push(target);
    }

    /// Gives all files their names, in the order in which they were added, then removes. If one step fails, those before it are done.
    pub fn apply(self) -> Result<(), Refused> {
        for file in self.complete {
            let target = file.target().to_owned();
            file.rename().map_err(|source| refused(&target, source))?;
        }
        for target in self.removed {
            match std::fs::remove_file(&target) {
                Err(source) if source.kind() != ErrorKind::NotFound => return Err(refused(&target, source)),
                _ => {}
            }
        }
        Ok(())
    }
}

fn refused(path: &Path, source: Error) -> Refused {
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
        batch.remove(first.clone());
        let error = batch.add(home.path(), b"new").unwrap_err();
        assert!(error.to_string().contains("directory"), "{error}");
        let error = batch.add(&second, b"new").unwrap_err();
        assert!(error.to_string().starts_with(&format!("{}: ", first.display())), "{error}");
        drop(batch);
        assert_eq!(std::fs::read_to_string(&first).unwrap(), "old");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_to_be_removed_need_not_be_there() {
        let home = tempfile::tempdir().unwrap();
        let (written, removed) = (home.path().join("a/written"), home.path().join("removed"));
        std::fs::write(&removed, "old").unwrap();
        let mut batch = Batch::default();
        batch.add(&written, b"new").unwrap();
        batch.remove(removed.clone());
        batch.remove(home.path().join("never"));
        batch.apply().unwrap();
        assert_eq!(std::fs::read_to_string(&written).unwrap(), "new");
        assert!(!removed.exists());
    }
}
