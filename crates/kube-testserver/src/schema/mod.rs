//! Structural schemas: what a field may hold, how it defaults, which fields exist, and how lists merge.
//!
//! One model serves built-in kinds (read lazily from a table) and custom resources (read from their `openAPIV3Schema`).
//!
//! What comes in from a client passes, in this order: `prune` (unknown fields go, or are errors in strict mode),
//! `default`, `drop_nulls` (not after apply), `validate`, `check_rules`.

mod cel;
mod default;
pub(crate) mod descriptions;
mod duplicates;
pub(crate) mod error;
pub(crate) mod golang;
pub(crate) mod model;
mod nulls;
mod openapi;
mod parse;
mod path;
mod prune;
mod structural;
pub(crate) mod types;
mod validate;

pub(crate) use cel::{Expression, Scope, untyped};
pub(crate) use duplicates::duplicate_fields;
pub(crate) use error::FieldError;
pub(crate) use model::Schema;
