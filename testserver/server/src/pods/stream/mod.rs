//! Upgraded connections: `exec`, `attach` and `port-forward` over websockets and SPDY.
//!
//! In the order in which data passes:
//!
//! - `request`: what a request connects to. `offer`, `handshake`: the protocol that client and server agree on.
//! - `accept`: answers and serves the connection. `connections`: ends it with the server.
//! - `channel`, `command`, `forward`: over a websocket. `spdy`: over SPDY.

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
