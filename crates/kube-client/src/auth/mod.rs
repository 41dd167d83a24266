//! Who we are: credentials planned once from the configuration, and renewed without doing anything twice.

mod cache;
mod error;
mod exec;
mod file;
mod header;
mod plan;
mod renew;

pub use error::AuthError;
pub(crate) use plan::Credential;
pub(crate) use renew::Renewing;
