//! Why a request got no response.

use std::error::Error as StdError;
use std::sync::Arc;
use std::{fmt, io, iter};

use hyper_util::client::legacy;
use tower::BoxError;

/// The server may have processed the request.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the server failed")]
pub(super) struct ConnectionFailed(#[source] pub(super) BoxError);

/// Whether the server closed the connection before it responded. The request may have been processed, or may never have arrived.
pub(crate) fn closed_before_response(err: &(dyn StdError + 'static)) -> bool {
    if !err.is::<ConnectionFailed>() && !err.is::<Http1Failed>() {
        return false;
    }
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let closed = |cause: &(dyn StdError + 'static)| {
        cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message)
            || cause.downcast_ref::<io::Error>().is_some_and(|io| {
                matches!(io.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
            })
    };
    iter::successors(Some(err), |err| (**err).source()).any(closed)
}

/// The same over HTTP/1.1. The error of hyper-util's client is left out of the sources: "client error (SendRequest)" tells users nothing.
#[derive(Debug)]
struct Http1Failed(legacy::Error);

impl fmt::Display for Http1Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection to the server failed")
    }
}

impl StdError for Http1Failed {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

/// Why there is no connection. Shared by all requests that waited for it.
#[derive(Clone, Debug)]
pub(super) struct ConnectFailed(Arc<dyn StdError + Send + Sync>);

impl ConnectFailed {
    pub(super) fn new(err: BoxError) -> Self {
        Self(err.into())
    }
}

impl fmt::Display for ConnectFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for ConnectFailed {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

/// The server closed every connection before the request was sent.
#[derive(Debug, thiserror::Error)]
#[error("the server closes each connection before it accepts a request")]
pub(super) struct ConnectionsClosed(#[source] pub(super) Option<Arc<h2::Error>>);

/// Why hyper-util's client could not connect. Its own text, "client error (Connect)", is left out.
#[derive(Debug)]
struct Http1ConnectFailed(legacy::Error);

impl fmt::Display for Http1ConnectFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.source() {
            Some(cause) => fmt::Display::fmt(cause, f),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl StdError for Http1ConnectFailed {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()?.source()
    }
}

/// Distinguishes a failed attempt to connect from a connection that failed.
pub(super) fn http1_error(err: legacy::Error) -> BoxError {
    match never_connected(&err) {
        true => Http1ConnectFailed(err).into(),
        false => Http1Failed(err).into(),
    }
}

fn never_connected(err: &legacy::Error) -> bool {
    // The client counts a connection that ends before its first request as an attempt to connect.
    let connected = err.source().is_some_and(|cause| cause.is::<hyper::Error>());
    err.is_connect() && !connected
}

/// Whether this error, one of a chain, tells that there was no connection.
pub(crate) fn is_connect(err: &(dyn StdError + 'static)) -> bool {
    err.is::<ConnectFailed>()
        || err.is::<ConnectionsClosed>()
        || err.is::<Http1ConnectFailed>()
        || err.downcast_ref().is_some_and(never_connected)
        || err.downcast_ref().is_some_and(|err: &io::Error| err.kind() == io::ErrorKind::ConnectionRefused)
}
