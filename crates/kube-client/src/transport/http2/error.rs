//! Why there is no answer, or only part of one.

use h2::Reason;
use thiserror::Error;

use super::line::Line;

/// The server says that it did nothing with the request: to send it again is safe, whatever it is.
#[derive(Debug, Error)]
#[error("the server did not take the request")]
pub(crate) struct NotTaken(#[source] pub(super) h2::Error);

#[cfg(test)]
impl NotTaken {
    pub(crate) fn new() -> Self {
        Self(Reason::REFUSED_STREAM.into())
    }
}

#[derive(Debug, Error)]
enum Failed {
    #[error("the connection to the server is dead: nothing came for {}s, not even the answer to a ping", super::alive::NOTICED.as_secs())]
    Silent,
    #[error("the connection to the server failed")]
    Broken(#[source] h2::Error),
}

pub(super) fn explain(err: h2::Error, line: &Line) -> tower::BoxError {
    if line.is_silent() {
        return Failed::Silent.into();
    }
    // A GOAWAY is told only to requests that come after the last one that the server takes (RFC 9113, 6.8); the others go on.
    let refused = err.is_go_away() || (err.is_reset() && err.reason() == Some(Reason::REFUSED_STREAM));
    if refused && err.is_remote() { NotTaken(err).into() } else { Failed::Broken(err).into() }
}
