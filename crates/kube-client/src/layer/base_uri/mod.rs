//! Requests name a path only; this layer puts the cluster's URL before it.

mod layer;
mod service;

pub use layer::BaseUriLayer;
pub use service::BaseUri;
