//! Why objects could not be loaded.

use std::{io, path::PathBuf};

/// Why objects could not be loaded. The message names the file and document, and the object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file or directory does not exist or cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The text is not YAML.
    #[error("{origin} is not YAML: {why}")]
    Yaml {
        /// The file, or "the YAML text".
        origin: String,
        /// The parser's message, with line and column.
        why: String,
    },
    /// The server rejected an object, as it would from a client.
    #[error("{object}: {why}")]
    StateEntry {
        /// Origin, kind and name of the object.
        object: String,
        /// The server's message.
        why: String,
    },
}

impl LoadError {
    pub(super) fn object(object: impl Into<String>, why: impl Into<String>) -> Self {
        Self::StateEntry { object: object.into(), why: why.into() }
    }
}
