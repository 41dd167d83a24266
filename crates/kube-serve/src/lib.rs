//! Serving HTTP: the listener that webhooks, metrics and the test server stand on.
//!
//! [`listener::Listener`] accepts connections on a TCP socket, speaks TLS when given a [`listener::TlsSettings`]
//! and HTTP/1.1 or HTTP/2 as the peer asks, and hands every request to one cloneable tower service.

pub mod listener;
