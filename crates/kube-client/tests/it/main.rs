//! The client against the embedded API server: in the process, over a socket, and over TLS.

mod api;
mod dead;
mod failure;
mod server;
mod transport;
#[cfg(feature = "ws")]
mod upgrade;
mod watch;
