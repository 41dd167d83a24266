//! Accept, TLS, HTTP, drain.
//!
//! [`Listener`] owns the socket; [`Listener::serve`] is one future that owns every connection: when it is
//! done (or dropped), no task of it is left.

mod accept;
mod connection;
mod peer;
mod serve;
mod tls;

#[cfg(test)]
mod tests;

pub use peer::PeerCertificates;
pub use serve::{HttpService, Listener, Served};
pub use tls::{TlsError, TlsSettings};

/// The error type that services and bodies may end with; it is logged, and the connection is closed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
