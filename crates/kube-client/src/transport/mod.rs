//! Connections, requests over them, and noticing when they are dead.

mod any;
mod connector;
mod http1;
mod http2;
mod io;
mod pool;
mod service;
mod tcp;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::future::BoxFuture;

#[cfg(feature = "openssl-tls")]
pub(crate) use any::AnyIo;
pub(crate) use any::{AnyConnector, Connects, any};
pub(crate) use connector::DeadlineConnector;
pub(crate) use http2::NotTaken;
pub(crate) use service::Transport;
#[cfg(any(feature = "rustls-tls", feature = "openssl-tls"))]
pub(crate) use tcp::plain_tcp_connector;
pub(crate) use tcp::tcp_connector;
#[cfg(test)]
pub(crate) use tests::NearEnd;

/// An extension of requests that go over a connection of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreshConnection;

/// Runs a task beside the requests.
pub(crate) type Spawn = Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;
