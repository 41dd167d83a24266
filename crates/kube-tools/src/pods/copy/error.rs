//! Why a copy failed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use kube_client::error::ErrorChain;
use thiserror::Error;

use super::progress::Copied;
use crate::pods::exec::ExecError;

/// Why a copy failed, and what it had copied until then.
#[derive(Debug)]
pub struct CopyError {
    /// The cause.
    pub kind: CopyErrorKind,
    /// What is complete. In a copy to a pod: what was sent, of which the last files may be incomplete.
    pub copied: Copied,
}

/// The cause of a [`CopyError`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyErrorKind {
    /// `tar` in the container could not be run, failed or was cut off.
    #[error("{}", ErrorChain(.0))]
    Exec(#[source] ExecError),
    /// A local file cannot be read or written.
    #[error("{}: {}", path.display(), ErrorChain(source))]
    Local {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A path without a name, such as `/`, where a name is needed.
    #[error("`{path}` has no file name")]
    NoName {
        /// The path.
        path: String,
    },
    /// What the container sent is not the archive of the requested path.
    #[error("the archive from the container is corrupted: {0}")]
    Archive(String),
    /// The files changed between two attempts, or are those of another pod or of a container that was restarted, so that the copy cannot be
    /// resumed.
    #[error(
        "the copy cannot be resumed at byte {offset} of the archive, because the container or files in it have changed"
    )]
    Changed {
        /// The position in the archive.
        offset: u64,
    },
    /// Nothing was copied.
    #[error("nothing was copied: {0}")]
    Nothing(String),
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Copied { files, bytes, .. } = &self.copied;
        write!(f, "{} (after {files} files, {bytes} bytes)", self.kind)
    }
}

impl std::error::Error for CopyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}

impl From<ExecError> for CopyErrorKind {
    fn from(err: ExecError) -> Self {
        Self::Exec(err)
    }
}
