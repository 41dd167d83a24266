//! The server as a tower service.

mod api;
mod broken;
mod documents;
mod form;
mod handle;
mod respond;

pub use api::{ApiServer, RewindError};
