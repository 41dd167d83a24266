//! Websockets: the handshake, the channels within them as pure machines, and the tasks that run those.

mod error;
#[cfg(any(fuzzing, test))]
#[cfg_attr(not(fuzzing), allow(unreachable_pub, reason = "what is built for fuzzing alone is public"))]
pub(crate) mod fuzz;
mod handshake;
mod pipe;
mod ports;
mod ports_task;
mod process;
mod process_task;
mod pulse;
mod socket;
mod streams;

pub use error::{ChannelError, UpgradeConnectionError};
pub use ports_task::Portforwarder;
pub use process::{AttachedProcess, TerminalSize};
pub use socket::Connection;

pub(crate) use handshake::Handshake;
