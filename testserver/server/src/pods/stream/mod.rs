//! Upgraded connections: `exec`, `attach` and `port-forward` over websockets and SPDY.

mod accept;
mod channel;
mod command;
mod connections;
mod forward;
mod handshake;
mod offer;
mod request;
#[cfg_attr(not(feature = "spdy"), path = "spdy/disabled.rs")]
mod spdy;

pub(crate) use accept::accept;
pub(crate) use connections::StreamConnections;
pub(crate) use request::is_stream;
