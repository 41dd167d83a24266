//! Why there are no manifests, or why they were not written.

use std::{io, path::PathBuf};

use crate::webhook::WebhooksError;

/// The manifests cannot be made or written. What was there before is unchanged unless it says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestsError {
    /// The webhooks cannot be configured.
    #[error(transparent)]
    Webhooks(#[from] WebhooksError),
    /// A name or namespace is none.
    #[error(
        "{what} is {value:?}: expected at most 63 lowercase letters, digits and \"-\", beginning with a letter"
    )]
    InvalidName {
        /// What it names.
        what: &'static str,
        /// What was given.
        value: String,
    },
    /// An argument of the subcommand is none.
    #[error("{argument}: expected {expected}")]
    InvalidArgument {
        /// What was given.
        argument: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The deployment would not work as it is set.
    #[error("{what}: {expected}")]
    Inconsistent {
        /// The part that does not fit.
        what: String,
        /// What was expected.
        expected: String,
    },
    /// An object cannot be written as JSON, or an edit is for a type that does not decode it.
    #[error("{object}: {reason}")]
    Encoding {
        /// Kind and name.
        object: String,
        /// The field and the reason.
        #[source]
        reason: serde_json::Error,
    },
    /// An object cannot be written as YAML.
    #[error("{object} cannot be written as YAML: {reason}")]
    Yaml {
        /// Kind and name.
        object: String,
        /// The reason.
        reason: String,
    },
    /// A file cannot be read, written or removed. Files before it in the alphabet may be written.
    #[error("{}: {reason}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        reason: io::Error,
    },
    /// A file that was not generated is where one is to be.
    #[error(
        "{} was not generated, and is not replaced: expected no file, or one whose first line is {header:?}",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The first line of generated files.
        header: String,
    },
    /// Files differ from what the program generates.
    #[error("generate the manifests again: these files are not what the program generates now: {}", files.join(", "))]
    Outdated {
        /// Their paths below the folder, each with what is wrong.
        files: Vec<String>,
    },
}

impl ManifestsError {
    pub(super) fn inconsistent(what: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Inconsistent { what: what.into(), expected: expected.into() }
    }
}
