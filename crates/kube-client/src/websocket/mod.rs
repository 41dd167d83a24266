//! Websockets: exec, attach and port-forward.
//!
//! `handshake` makes and checks the upgrade, `socket` is the result, `keepalive` finds one that is dead. On it, `process_channels` and
//! `port_channels` say without I/O what a message means, for the tasks of `process` and `portforward`, which hand bytes on by a `pipe`.
//! `error` is for all, `fuzz` for tests with any bytes.

mod handshake;
mod keepalive;
mod pipe;
mod port_channels;
mod portforward;
mod process;
mod process_channels;
mod socket;

mod error;
#[cfg(any(fuzzing, test))]
#[cfg_attr(not(fuzzing), allow(unreachable_pub, reason = "public only under cfg(fuzzing)"))]
pub(crate) mod fuzz;

pub use error::{ChannelError, UpgradeConnectionError};
pub(crate) use handshake::Handshake;
pub use portforward::Portforwarder;
pub use process::{AttachedProcess, TerminalSize};
pub use socket::Connection;
