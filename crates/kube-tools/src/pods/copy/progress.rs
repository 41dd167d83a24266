//! What has been copied.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// What a copy has done, or had done when it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Regular files that are complete.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Symbolic links, to a pod only.
    pub links: u64,
    /// Bytes of files, also of a file that is not complete.
    pub bytes: u64,
    /// The first 1000 of what was not copied, and why.
    pub skipped: Vec<Skipped>,
    /// The number of all that was not copied.
    pub skipped_count: u64,
}

impl Copied {
    pub(super) fn is_empty(&self) -> bool {
        self.files + self.directories + self.links == 0
    }
}

/// An entry that was not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Its path in the archive or on the local disk.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// How far a running copy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyProgress {
    /// Files that are complete.
    pub files: u64,
    /// Bytes of files.
    pub bytes: u64,
}

/// Counts what is copied, for the result and for the receiver of the progress.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    copied: Arc<Mutex<Copied>>,
    progress: Option<watch::Sender<CopyProgress>>,
}

const LISTED: usize = 1000;

impl Counter {
    pub(super) fn new(progress: Option<watch::Sender<CopyProgress>>) -> Self {
        Self { copied: Arc::default(), progress }
    }

    pub(super) fn copied(&self) -> Copied {
        self.copied.lock().clone()
    }

    pub(super) fn bytes(&self, count: usize) {
        self.change(|copied| copied.bytes += u64::try_from(count).unwrap_or(0));
    }

    pub(super) fn file(&self) {
        self.change(|copied| copied.files += 1);
    }

    pub(super) fn directory(&self) {
        self.change(|copied| copied.directories += 1);
    }

    pub(super) fn link(&self) {
        self.change(|copied| copied.links += 1);
    }

    pub(super) fn skip(&self, path: &Path, reason: impl Into<String>) {
        let skipped = Skipped { path: path.to_owned(), reason: reason.into() };
        self.change(|copied| {
            copied.skipped_count += 1;
            if copied.skipped.len() < LISTED {
                tracing::warn!(path = %path.display(), reason = %skipped.reason, "not copied");
                copied.skipped.push(skipped);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Copied)) {
        let mut copied = self.copied.lock();
        change(&mut copied);
        let now = CopyProgress { files: copied.files, bytes: copied.bytes };
        drop(copied);
        if let Some(progress) = &self.progress {
            progress.send_replace(now);
        }
    }
}
