//! [`ReadError`]: why objects could not be read.

use std::path::PathBuf;

use super::source::{Source, origin};

/// Why objects could not be read. `{}` names the file, the document and its line, and what was expected there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A file or directory cannot be read, or is not text.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path, or another name of the text.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A directory has no file to read.
    #[error("{}: expected a file whose name ends in .yaml, .yml or .json{}", path.display(), subdirectories(*recursive))]
    NoFiles {
        /// The directory.
        path: PathBuf,
        /// Whether its subdirectories were read too.
        recursive: bool,
    },
    /// The text is neither YAML nor JSON, has a key twice in one mapping, or is too large or too deep.
    #[error("{at}: {reason}")]
    Syntax {
        /// The document, and the line of the fault.
        at: Source,
        /// What is wrong.
        reason: String,
    },
    /// A document is not a Kubernetes object.
    #[error("{}: {reason}", origin(at.as_ref()))]
    NotAnObject {
        /// Where it is; `None` for an object of the program.
        at: Option<Source>,
        /// The field, and what was expected.
        reason: String,
    },
    /// An object occurs twice.
    #[error("{object} occurs twice: expected it once, in {} or in {}", origin(first.as_deref()), origin(second.as_deref()))]
    Duplicate {
        /// The kind, name and namespace.
        object: String,
        /// Where it was first; `None` for an object of the program.
        first: Option<Box<Source>>,
        /// Where it was again; `None` for an object of the program.
        second: Option<Box<Source>>,
    },
}

fn subdirectories(recursive: bool) -> &'static str {
    if recursive { "" } else { " (subdirectories are read by `read_recursive`)" }
}
