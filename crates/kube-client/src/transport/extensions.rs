//! Extensions of requests that the transport reads or fills.

use std::sync::{Arc, OnceLock};

use http::{Request, Version};

/// Sends the request over a new connection that no other request uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreshConnection;

/// Receives the HTTP version of the connection that carries the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct NegotiatedVersion(Arc<OnceLock<Version>>);

impl NegotiatedVersion {
    /// Records the version, if the request has this extension.
    pub(crate) fn record<B>(request: &Request<B>, version: Version) {
        if let Some(Self(recorded)) = request.extensions().get() {
            // A retry goes to the same server and so negotiates the same version.
            let _ = recorded.set(version);
        }
    }

    /// `None` while the request waits for credentials or for a connection.
    pub(crate) fn get(&self) -> Option<Version> {
        self.0.get().copied()
    }
}
