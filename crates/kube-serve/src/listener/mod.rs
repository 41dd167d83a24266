//! Accept, TLS, HTTP, drain.
//!
//! [`Listener`] owns the socket; [`Listener::serve`] is one future that owns every connection: when it is
//! done (or dropped), no task of it is left.

mod connection;
mod peer;
mod serve;
mod service;
mod slots;
mod tls;

#[cfg(test)]
mod tests;

pub use peer::PeerCertificates;
pub use serve::{Listener, Served};
pub use service::{BoxError, HttpService};
pub use tls::{TlsError, TlsSettings};
