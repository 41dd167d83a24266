//! From parameters to [`http::Request`]: pure, nothing is sent.

mod body;
mod build;
mod collection;
mod error;
mod metadata;
mod object;
mod path;
pub(crate) mod query;
mod subresource;

#[cfg(feature = "kubelet-debug")]
pub(crate) use build::Draft;
pub use build::*;
pub use error::Error;
