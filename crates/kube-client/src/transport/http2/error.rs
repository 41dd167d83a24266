//! Why a response is missing or incomplete.

use std::io;

use h2::Reason;
use thiserror::Error;
use tower::BoxError;

use super::keepalive::DETECTION_TIME;
use super::streams::{Closed, Streams};
use crate::transport::error::ConnectionFailed;

/// The server reports that it has not processed the request, so any request can be sent again (RFC 9113, 8.7).
#[derive(Debug, Error)]
#[error("the server did not process the request")]
pub(crate) struct NotProcessed(#[source] pub(super) h2::Error);

#[cfg(test)]
impl NotProcessed {
    pub(crate) fn new() -> Self {
        Self(Reason::REFUSED_STREAM.into())
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

/// The server ended the stream before the body had the length that its head announced.
pub(super) fn truncated() -> BoxError {
    let text = "the server ended the response before it was complete";
    ConnectionFailed(io::Error::new(io::ErrorKind::UnexpectedEof, text).into()).into()
}

/// Classifies an error of one stream.
pub(super) fn explain(err: h2::Error, streams: &Streams) -> BoxError {
    if let Some(Closed::Unresponsive) = streams.closed() {
        return unresponsive();
    }
    // h2 reports a GOAWAY only to streams above the last one that the server processes (RFC 9113, 6.8).
    let refused = err.is_go_away() || (err.is_reset() && err.reason() == Some(Reason::REFUSED_STREAM));
    if refused && err.is_remote() {
        return NotProcessed(err).into();
    }
    // `h2::Error` has no `source`; without this, callers could not find the I/O error in the chain.
    let cause = match err.get_io() {
        // h2 reports the end of a connection with open streams as a broken pipe.
        Some(err) if err.kind() == io::ErrorKind::BrokenPipe => {
            let text = "the server closed the connection before the response was complete";
            io::Error::new(io::ErrorKind::UnexpectedEof, text).into()
        }
        Some(err) => io::Error::new(err.kind(), err.to_string()).into(),
        None => err.into(),
    };
    ConnectionFailed(cause).into()
}
