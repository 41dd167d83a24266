use std::{io, path::PathBuf};

/// Why objects could not be taken in. The message names the file and document, and the object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file or directory is not there or cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Text that is no YAML.
    #[error("{origin} is no YAML: {why}")]
    Yaml {
        /// The file, or "the YAML text".
        origin: String,
        /// What is wrong, with line and column.
        why: String,
    },
    /// An object that the server refuses, as it would refuse it from a client.
    #[error("{object}: {why}")]
    StateEntry {
        /// Where it comes from, its kind and name.
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
