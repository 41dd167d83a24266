//! The server as a tower service.

mod api;
mod body;
mod documents;
mod form;
mod handle;
mod respond;

pub use api::{ApiServer, Builder};
pub use body::Body;
