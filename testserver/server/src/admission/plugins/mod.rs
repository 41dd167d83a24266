//! The built-in admission plugins.
//!
//! `plugin` has their names, `write` is a write as they see it, and `builtin` runs them in the order of a cluster: `limit_ranger`, `priority`, `storage_class`, and last `quota`. `resources` adds up what pods request.

mod builtin;
mod limit_ranger;
mod plugin;
mod priority;
mod quota;
mod resources;
mod storage_class;
mod write;

pub use plugin::{AdmissionPlugin, UnknownPlugin};

pub(crate) use builtin::{mutate, validate, validate_usage};
pub(crate) use priority::system_class;
pub(crate) use quota::QuotaLedger;
pub(crate) use write::{Objects, Operation, Write};
