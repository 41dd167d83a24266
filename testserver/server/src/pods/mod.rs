//! Pods: the built-in node that runs scripts instead of containers, and the subresources that a node serves.
//!
//! In the order in which data passes:
//!
//! - `node`, `containers`: what a kubelet reports.
//! - `respond`: where requests arrive. `subresources`: checks them. `select`: finds the container.
//! - `stream`: the connections of `exec`, `attach` and `port-forward`.
//! - `kubelet`: runs each `process`, which is the script of a test or the `shell`. `attach`, `session`: connect clients to it.
//!   `logs`: keeps what it prints.

mod attach;
mod containers;
mod kubelet;
mod logs;
mod node;
mod process;
mod respond;
mod select;
mod session;
#[cfg_attr(not(feature = "shell"), path = "shell/disabled.rs")]
mod shell;
mod stream;
mod subresources;

pub use kubelet::Kubelet;
pub use process::{Connection, Container, ContainerState, Exit, Process, TerminalSize};
pub use session::Session;

pub(crate) use containers::{bind, deadline_in, default_state, exceed_deadline, is_over, observe, run};
pub(crate) use node::{NODE_NAME, node_object, required_node};
pub(crate) use respond::{PodServer, node_subresource};
pub(crate) use stream::StreamConnections;

use logs::{LogQuery, LogTail, Since};
use process::Streams;
use select::{container_of, is_running, status_of};
use session::SessionRecorder;
use shell::Shell;
use subresources::{connect, log};
