//! From a [`Config`](crate::Config) to the service that sends requests: layers, transport, connectors.

// `compose` lists the layers, of which `gzip` is here; `access` exchanges the lower ones. `config_ext` has them for custom stacks,
// `optional` those of features. `service` is what each stack is.

mod access;
mod compose;
mod config_ext;
#[cfg(feature = "gzip")]
mod gzip;
mod optional;
mod service;

pub(crate) use access::{Access, AccessService, Checks, Decided, cluster_changes};
pub(crate) use compose::{WithAccess, compose, compose_over};
pub use config_ext::ConfigExt;
pub use service::DynBody;
pub(crate) use service::Stack;

#[cfg(test)]
mod tests;
