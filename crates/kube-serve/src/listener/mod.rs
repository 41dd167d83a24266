//! Accept, TLS, HTTP, drain.
//!
//! [`Listener`] owns the socket; [`Listener::serve`] is one future that owns every connection: when it is
//! done (or dropped), no task of it is left.

// `serve` accepts, within the `slots` there are; `tls` is the handshake, `peer` the client's certificates, `connection` serves requests by
// a `service` until the end.

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
