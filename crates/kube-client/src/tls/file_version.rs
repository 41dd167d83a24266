//! Detecting that a file has changed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Modification time and length of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FileVersion {
    modified: SystemTime,
    length: u64,
}

impl FileVersion {
    /// `None` if there is no such file.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { modified: metadata.modified().ok()?, length: metadata.len() })
    }

    pub(super) fn of_all(paths: &[PathBuf]) -> Vec<Option<Self>> {
        paths.iter().map(|path| Self::of(path)).collect()
    }
}
