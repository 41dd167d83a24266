//! Why a response is missing or incomplete.

use std::error::Error as StdError;
use std::{fmt, io};

use h2::Reason;
use thiserror::Error;
use tower::BoxError;

use super::connection::DETECTION_TIME;
use super::streams::{Closed, OpenStream};
use crate::transport::error::ConnectionFailed;

/// The server reports that it has not processed the request, so any request can be sent again (RFC 9113, 8.7).
#[derive(Debug, Error)]
#[error("the server did not process the request")]
pub(crate) struct NotProcessed(#[source] BoxError);

#[cfg(test)]
impl NotProcessed {
    pub(crate) fn new() -> Self {
        Self(h2::Error::from(Reason::REFUSED_STREAM).into())
    }
}

/// The server has not acknowledged a ping.
pub(super) fn unresponsive() -> BoxError {
    let silence = DETECTION_TIME.as_secs();
    let text = format!(
        "the connection to the server is dead: nothing was received for {silence}s, not even a ping acknowledgement"
    );
    io::Error::new(io::ErrorKind::TimedOut, text).into()
}

/// The body is shorter than its content-length.
pub(super) fn truncated() -> BoxError {
    let text = "the server ended the response before it was complete";
    ConnectionFailed(io::Error::new(io::ErrorKind::UnexpectedEof, text).into()).into()
}

/// Finds out why a stream failed. If the connection has ended, this waits until its task has recorded the reason.
pub(super) async fn explain(err: hyper::Error, stream: OpenStream) -> BoxError {
    if h2_error(&err).is_some_and(is_refusal) {
        return NotProcessed(Http2Error(err).into()).into();
    }
    let Some(io) = io_error(&err) else { return ConnectionFailed(Http2Error(err).into()).into() };
    match stream.connection().wait_closed().await {
        Closed::Unresponsive => unresponsive(),
        Closed::Ended | Closed::Failed(_) => ConnectionFailed(io.into()).into(),
    }
}

fn h2_error(err: &hyper::Error) -> Option<&h2::Error> {
    err.source()?.downcast_ref()
}

/// h2 reports a GOAWAY only to streams above the last one that the server processes (RFC 9113, 6.8).
fn is_refusal(err: &h2::Error) -> bool {
    let refused = err.is_reset() && err.reason() == Some(Reason::REFUSED_STREAM);
    err.is_remote() && (err.is_go_away() || refused)
}

/// The I/O error that ended the connection. `h2::Error` has no `source`; without this, callers could not find it in the chain.
fn io_error(err: &hyper::Error) -> Option<io::Error> {
    let io = match h2_error(err) {
        Some(err) => err.get_io()?,
        None => err.source()?.downcast_ref::<io::Error>()?,
    };
    Some(match io.kind() {
        // h2 reports the end of a connection with open streams as a broken pipe.
        io::ErrorKind::BrokenPipe => {
            let text = "the server closed the connection before the response was complete";
            io::Error::new(io::ErrorKind::UnexpectedEof, text)
        }
        kind => io::Error::new(kind, io.to_string()),
    })
}

/// What h2 says. The text of hyper, "http2 error", is left out.
#[derive(Debug)]
struct Http2Error(hyper::Error);

impl fmt::Display for Http2Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.source() {
            Some(cause) => fmt::Display::fmt(cause, f),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl StdError for Http2Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()?.source()
    }
}
