//! Why a request cannot be built.

/// Why a request cannot be built. Nothing has been sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The parts do not make a valid HTTP request.
    #[error("cannot build the HTTP request")]
    BuildRequest(#[source] http::Error),

    /// The body cannot be written as JSON.
    #[error("cannot serialize the request body")]
    SerializeBody(#[source] serde_json::Error),

    /// The server would refuse the parameters; the text says what to change.
    #[error("invalid request: {0}")]
    Validation(String),
}

impl Error {
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::Validation(what.into())
    }
}
