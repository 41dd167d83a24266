//! [`MigrateError`]: why a migration ended before its end.

use std::path::PathBuf;

/// Why a migration ended before all objects were visited. What is migrated stays migrated, and the next run goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// The definition does not exist.
    #[error("{crd}: the cluster has no such definition; expected a name such as widgets.example.com")]
    NotFound {
        /// The name of the definition.
        crd: String,
    },
    /// The definition cannot be migrated as it is.
    #[error("{crd}: {reason}")]
    Definition {
        /// The name of the definition.
        crd: String,
        /// What was found, and what was expected.
        reason: String,
    },
    /// The server refused a request, or did not respond to five attempts.
    #[error("{request}: {reason}")]
    Request {
        /// What was requested.
        request: String,
        /// The response.
        reason: String,
    },
    /// The state file cannot be read or written, or is of another migration.
    #[error("{}: {reason}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What was found, and what was expected.
        reason: String,
    },
}
