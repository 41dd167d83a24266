//! Objects that a server is given or gives away as a whole: fixtures and snapshots.

mod error;
mod load;
mod read;
mod snapshot;

pub use error::LoadError;
pub use read::Manifests;

pub(crate) use load::load;
pub(crate) use snapshot::{restore, take};
