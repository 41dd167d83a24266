//! Structural schemas: types, validation, defaults, pruning and list semantics of fields.
//!
//! One model for built-in kinds (parsed lazily from a table) and custom resources (parsed from their `openAPIV3Schema`).
//!
//! Objects of clients pass through, in this order: `prune` (drops unknown fields, errors in strict mode), `default`, `drop_nulls` (not after apply), `validate`, `check_rules`.

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
mod pattern;
mod prune;
mod structural;
pub(crate) mod types;
mod validate;

pub(crate) use cel::{
    AccessCheck, Authorize, CelValue, Expression, PolicyExpression, REQUEST_RESOURCE, Returns, Scope,
    authorizer, cel_map, json_of, untyped,
};
pub(crate) use duplicates::duplicate_fields;
pub(crate) use error::FieldError;
pub(crate) use model::Schema;
