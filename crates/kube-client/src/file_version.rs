//! Detecting that a file has changed.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The state of a file: its modification time and length, and on Unix which file the name leads to and when that changed last. So a file of
/// the same length and time that replaces another one (a rename, a link of a mounted Secret) is a change too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FileVersion {
    modified: SystemTime,
    length: u64,
    inode: Inode,
}

impl FileVersion {
    /// `None` if there is no such file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { modified: metadata.modified().ok()?, length: metadata.len(), inode: inode(&metadata) })
    }

    pub(crate) fn of_all(paths: &[PathBuf]) -> Vec<Option<Self>> {
        paths.iter().map(|path| Self::of(path)).collect()
    }
}

/// Device, number, and the time of the last change in seconds and nanoseconds.
type Inode = (u64, u64, i64, i64);

#[cfg(unix)]
fn inode(metadata: &Metadata) -> Inode {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Inode {
    (0, 0, 0, 0)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// As `rsync --times` and `cp -p` do, and a token whose length never changes.
    #[test]
    fn a_file_of_the_same_length_and_time_is_another_version() {
        let folder = tempfile::tempdir().unwrap();
        let [path, next] = ["token", "next"].map(|name| folder.path().join(name));
        std::fs::write(&path, "one").unwrap();
        let before = FileVersion::of(&path).unwrap();
        assert_eq!(FileVersion::of(&path), Some(before));
        std::fs::write(&next, "two").unwrap();
        let file = std::fs::File::options().write(true).open(&next).unwrap();
        file.set_modified(before.modified).unwrap();
        std::fs::rename(&next, &path).unwrap();
        let after = FileVersion::of(&path).unwrap();
        assert_eq!((after.modified, after.length), (before.modified, before.length));
        assert_ne!(after, before);
    }
}
