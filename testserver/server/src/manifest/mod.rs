//! Manifests and snapshots: objects loaded into and saved from a server.

mod error;
mod load;
mod read;
mod snapshot;

pub use error::LoadError;
pub use read::Manifests;

pub(crate) use load::load;
pub(crate) use snapshot::{restore, take};
