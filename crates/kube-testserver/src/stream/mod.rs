//! Upgraded connections: `exec`, `attach` and `port-forward` over websockets and SPDY.

mod accept;
mod channel;
mod command;
mod connections;
mod forward;
mod handshake;
mod request;
mod spdy;
mod tunnel;

pub(crate) use accept::accept;
pub(crate) use connections::StreamConnections;
pub(crate) use request::is_stream;
