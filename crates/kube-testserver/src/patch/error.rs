use thiserror::Error;

/// Why a patch was refused; each variant has exactly one HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum PatchError {
    /// The patch document itself makes no sense (400 BadRequest, with this text).
    #[error("{0}")]
    Malformed(String),
    /// More operations than are run for one request (413, with this text).
    #[error("The allowed maximum operations in a JSON patch is {limit}, got {given}")]
    TooLong {
        /// How many are allowed.
        limit: usize,
        /// How many the patch has.
        given: usize,
    },
    /// A well-formed JSON patch does not fit the object (422 Invalid). The genuine server hides the reason from the
    /// caller; it is kept here for logs.
    #[error("the server rejected our request due to an error in our request")]
    NotApplicable(String),
    /// The patch has a directive that means nothing where it stands (the genuine server answers 500, with this text).
    #[error("{0}")]
    Failed(String),
    /// The patch would put a value where the object cannot have it (422 Invalid, cause `patch`).
    #[error("patch: Invalid value: {patch:?}: {message}")]
    Invalid {
        /// The patch or the patched object, as text.
        patch: String,
        /// What is wrong with it.
        message: String,
    },
}
