//! Why one child was not applied.

use crate::apply::ApplyError;

/// Why one child was not applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChildError {
    /// An object of the same name exists, and is no child of the owner. It was left alone.
    #[error(
        "{object} exists already, and is no child of {owner}: {belongs}. Delete it, or choose another name"
    )]
    Foreign {
        /// Kind, name and namespace of the object.
        object: String,
        /// Kind, name and namespace of the owner.
        owner: String,
        /// Whose it is, as far as it says so.
        belongs: String,
    },
    /// The objects of its kind were not listed, so it is not known whether it exists.
    #[error("failed to list {collection}: {message}")]
    List {
        /// Kind and namespace.
        collection: String,
        /// The cause, which several children may share.
        message: String,
    },
    /// It was not read or written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}
