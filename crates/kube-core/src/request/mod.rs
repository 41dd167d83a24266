//! From parameters to [`http::Request`]: pure, nothing is sent.

mod body;
mod build;
mod collection;
mod error;
mod metadata;
mod object;
mod path;
mod query;
mod subresource;

pub use build::Request;
pub use error::Error;
