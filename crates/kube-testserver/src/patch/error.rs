use thiserror::Error;

/// Why a patch was refused; each variant has exactly one HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum PatchError {
    /// The patch document itself makes no sense (400 BadRequest, with this text).
    #[error("{0}")]
    Malformed(String),
    /// A well-formed JSON patch does not fit the object (422 Invalid). The genuine server hides the reason from the
    /// caller; it is kept here for logs.
    #[error("the server rejected our request due to an error in our request")]
    DoesNotFit(String),
    /// The patch would put a value where the object cannot have it (422 Invalid, cause `patch`).
    #[error("patch: Invalid value: {patch:?}: {message}")]
    Invalid {
        /// The patch or the patched object, as text.
        patch: String,
        /// What is wrong with it.
        message: String,
    },
}

/// How Go names the JSON type of a value in its decoding errors.
pub(super) fn go_type(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}
