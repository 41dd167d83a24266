//! Websockets: exec, attach and port-forward.

// From a request to a websocket.
mod handshake;
mod socket;
// Its channels, without I/O.
mod keepalive;
mod port_channels;
mod process_channels;
// The streams that programs use, and the tasks behind them.
mod pipe;
mod portforward;
mod process;

mod error;
#[cfg(any(fuzzing, test))]
#[cfg_attr(not(fuzzing), allow(unreachable_pub, reason = "public only under cfg(fuzzing)"))]
pub(crate) mod fuzz;

pub use error::{ChannelError, UpgradeConnectionError};
pub(crate) use handshake::Handshake;
pub use portforward::Portforwarder;
pub use process::{AttachedProcess, TerminalSize};
pub use socket::Connection;
