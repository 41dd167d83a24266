//! Why there is no answer, or only part of one.

use std::io;

use h2::Reason;
use thiserror::Error;
use tower::BoxError;

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

/// What was sent may have been taken.
#[derive(Debug, Error)]
#[error("the connection to the server failed")]
struct Broken(#[source] BoxError);

/// The server has answered no ping.
pub(super) fn silent() -> BoxError {
    let silence = super::alive::NOTICED.as_secs();
    let text = format!(
        "the connection to the server is dead: nothing came for {silence}s, not even the answer to a ping"
    );
    io::Error::new(io::ErrorKind::TimedOut, text).into()
}

pub(super) fn explain(err: h2::Error, line: &Line) -> BoxError {
    if line.is_silent() {
        return silent();
    }
    // A GOAWAY is told only to requests that come after the last one that the server takes (RFC 9113, 6.8); the others go on.
    let refused = err.is_go_away() || (err.is_reset() && err.reason() == Some(Reason::REFUSED_STREAM));
    if refused && err.is_remote() {
        return NotTaken(err).into();
    }
    // `h2::Error` has no `source`, so that nobody would find what is in it.
    let cause = match err.get_io() {
        // Its word for an end of the connection while answers are under way.
        Some(err) if err.kind() == io::ErrorKind::BrokenPipe => {
            let text = "the server closed the connection before the answer had ended";
            io::Error::new(io::ErrorKind::UnexpectedEof, text).into()
        }
        Some(err) => io::Error::new(err.kind(), err.to_string()).into(),
        None => err.into(),
    };
    Broken(cause).into()
}
