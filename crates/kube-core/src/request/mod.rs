//! Builds [`http::Request`] values from parameters. Pure: nothing is sent.

mod body;
mod build;
mod error;
pub(crate) mod query;
mod verbs;

#[cfg(feature = "kubelet-debug")]
pub(crate) use build::RequestBuilder;
pub use build::*;
pub use error::Error;
