//! The server as a tower service.

mod access;
mod api;
mod broken;
mod documents;
mod form;
mod handle;
mod impersonation;
mod node;
mod observer;
mod respond;

pub use api::{ApiServer, RewindError};
pub use observer::Answered;

pub(crate) use observer::Observer;
