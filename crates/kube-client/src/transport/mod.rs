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

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use http::{Request, Version};

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

/// An extension of requests whose sender wants to know how they travel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carrier(Arc<OnceLock<Version>>);

impl Carrier {
    /// Notes the protocol that carries the request, if somebody wants to know.
    pub(crate) fn note<B>(request: &Request<B>, version: Version) {
        if let Some(Self(noted)) = request.extensions().get() {
            // One that is sent again goes to the same server, and so by the same protocol.
            let _ = noted.set(version);
        }
    }

    /// The protocol that carries the request. `None` while it waits for credentials, or for the server to choose.
    pub(crate) fn version(&self) -> Option<Version> {
        self.0.get().copied()
    }
}

/// Runs a task beside the requests.
pub(crate) type Spawn = Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;
