//! From a [`Config`](crate::Config) to the service that sends requests: layers, transport, connectors.

mod compose;
mod config_ext;
#[cfg(feature = "gzip")]
mod gzip;
mod optional;

pub use compose::DynBody;
pub(crate) use compose::{Stack, compose, compose_over};
pub use config_ext::ConfigExt;

#[cfg(test)]
mod tests;
