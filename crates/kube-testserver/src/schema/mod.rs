//! Structural schemas: what a field may hold, how it defaults, which fields exist, and how lists merge.
//!
//! One model serves built-in kinds (read lazily from a table) and custom resources (read from their `openAPIV3Schema`).

mod default;
pub(crate) mod error;
pub(crate) mod model;
mod openapi;
mod parse;
mod prune;
mod structural;
pub(crate) mod types;

pub(crate) use error::FieldError;
pub(crate) use model::Schema;
