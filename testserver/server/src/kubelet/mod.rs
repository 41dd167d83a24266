//! The kubelet of the built-in node: runs scripts instead of containers.

mod attach;
mod handle;
mod logs;
mod process;
mod select;
mod session;
#[cfg_attr(not(feature = "shell"), path = "shell/disabled.rs")]
mod shell;

pub use handle::Kubelet;
pub use process::{Connection, Container, ContainerState, Exit, Process, TerminalSize};
pub use session::Session;

pub(crate) use logs::{LogQuery, LogTail, Since};
pub(crate) use process::Streams;
pub(crate) use select::{container_of, is_running, status_of};
pub(crate) use session::SessionRecorder;
