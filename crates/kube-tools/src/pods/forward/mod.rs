//! Local listeners whose connections are forwarded to a pod.
//!
//! `target` says what ports lead to. `listener` accepts, `resolve` finds the pod, which `choose` decides on, `connection` forwards, `error`
//! says why not.

// What is forwarded, and where to.
mod target;
// From a target to a port of a pod: decisions without I/O, then the requests.
mod choose;
mod resolve;
// A connection, and the listeners.
mod connection;
mod error;
mod listener;

pub use error::ForwardError;
pub use listener::Forwarder;
pub(crate) use listener::forward;
pub use target::{ForwardPort, ForwardTarget, InvalidForward, RemotePort};
