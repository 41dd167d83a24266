//! The server as a tower service.

mod access;
mod api;
mod broken;
mod documents;
mod form;
mod handle;
mod impersonation;
mod node;
mod respond;

pub use api::{ApiServer, RewindError};
