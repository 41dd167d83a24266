//! Serving HTTP: the listener of the test server. It knows nothing of Kubernetes.
//!
//! [`listener::Listener`] accepts connections on a TCP socket, speaks TLS when given a [`listener::TlsSettings`]
//! and HTTP/1.1 or HTTP/2 as negotiated, and passes every request to one cloneable tower service.

pub mod listener;
pub mod log_limit;
