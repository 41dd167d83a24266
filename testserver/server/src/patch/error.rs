//! Why a patch cannot be applied.

use thiserror::Error;

/// Why a patch was refused; each variant has one HTTP response.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum PatchError {
    /// The patch document is malformed (400 BadRequest, with this text).
    #[error("{0}")]
    Malformed(String),
    /// Too many operations (413, with this text).
    #[error("The allowed maximum operations in a JSON patch is {limit}, got {provided}")]
    TooLong {
        /// The largest number.
        limit: usize,
        /// The number in the patch.
        provided: usize,
    },
    /// A well-formed JSON patch does not apply to the object (422 Invalid). Genuine servers hide the reason from the client.
    #[error("the server rejected our request due to an error in our request")]
    NotApplicable(String),
    /// A directive is not valid where it stands (genuine servers respond with 500 and this text).
    #[error("{0}")]
    Failed(String),
    /// A value has the wrong type for its field (422 Invalid, cause `patch`).
    #[error("patch: Invalid value: {patch:?}: {message}")]
    Invalid {
        /// The patch or the patched object, as text.
        patch: String,
        /// The reason.
        message: String,
    },
}
