//! Headers that stand on every request: those of the configuration, and whom to act as.

mod layer;
mod service;

pub use layer::ExtraHeadersLayer;
pub use service::ExtraHeaders;
