//! Noticing that a file has changed.

use std::path::Path;
use std::time::SystemTime;

/// What tells one state of a file from another.
pub(super) type Stamp = (SystemTime, u64);

/// `None` if the file is not there.
pub(super) fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
