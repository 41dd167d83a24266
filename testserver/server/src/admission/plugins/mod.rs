//! The built-in admission plugins.
//!
//! `plugin` has their names, `write` is a write as they see it, and `builtin` runs them in the order of a cluster: `limit_ranger`,
//! `service_account`, `priority`, `tolerations`, `default_class` for claims, `runtime_class`, `default_class` for ingresses, and last
//! `quota`. `resources` adds up what pods request.

mod builtin;
mod default_class;
mod limit_ranger;
mod plugin;
mod priority;
mod quota;
mod resources;
mod runtime_class;
mod service_account;
mod tolerations;
mod write;

pub use plugin::{AdmissionPlugin, UnknownPlugin};

pub(crate) use builtin::{mutate, validate, validate_usage};
pub(crate) use priority::system_class;
pub(crate) use quota::QuotaLedger;
pub(crate) use write::{Objects, Operation, Write};
