//! Errors of forwarded ports.

use std::io;
use std::net::SocketAddr;

use kube_client::error::{Error, ErrorChain};
use thiserror::Error;

use super::target::{ForwardTarget, RemotePort};

/// Why ports cannot be forwarded, or why a forwarded connection ended.
#[derive(Debug, Error)]
pub enum ForwardError {
    /// No port was given.
    #[error("no port to forward to {target} is given")]
    NoPort {
        /// The target.
        target: ForwardTarget,
    },
    /// The local address cannot be listened on.
    #[error("cannot listen on {address}: {}", ErrorChain(source))]
    Listen {
        /// The local address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The server refused to say what the target is, or does not know it.
    #[error("cannot find a pod of {target}: {}", ErrorChain(source))]
    Request {
        /// The target.
        target: ForwardTarget,
        /// The cause.
        source: Error,
    },
    /// The target has no such port, or no pods.
    #[error("cannot forward to {target}, port {port}: {reason}")]
    Unsuitable {
        /// The target.
        target: ForwardTarget,
        /// The port of the target.
        port: RemotePort,
        /// What is missing.
        reason: String,
    },
    /// No pod of the target became ready in time.
    #[error("{target} has no ready pod: {reason}")]
    NotReady {
        /// The target.
        target: ForwardTarget,
        /// The state of its pods.
        reason: String,
    },
    /// The pod refused the connection, for example because nothing listens on the port.
    #[error("pod {pod}, port {port}: {message}")]
    Refused {
        /// The pod.
        pod: String,
        /// The port of the pod.
        port: u16,
        /// The message of the node.
        message: String,
    },
    /// The pod of the connection was deleted or replaced while it was open. New connections go to another pod.
    #[error("the connection to pod {pod}, port {port}, ended: the pod was deleted or replaced")]
    PodGone {
        /// The pod.
        pod: String,
        /// The port of the pod.
        port: u16,
    },
    /// The connection to the server failed while it was open.
    #[error("the connection to pod {pod}, port {port}, ended: {reason}")]
    Disconnected {
        /// The pod.
        pod: String,
        /// The port of the pod.
        port: u16,
        /// The cause.
        reason: String,
    },
}
