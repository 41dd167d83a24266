//! Structural schemas: types, validation, defaults, pruning and list semantics of fields.
//!
//! One model for built-in kinds (parsed lazily from a table) and custom resources (parsed from their `openAPIV3Schema`):
//!
//! - `model`: the fields and their rules; `parse`: from a document; `types`: the built-in types by name; `openapi`, `descriptions`: to
//!   documents. `structural`: what documents of custom resources must be.
//! - Objects of clients pass through, in this order: `yaml` (reads it), `duplicates` (fields that a text has twice), `prune` (drops
//!   unknown fields, errors in strict mode), `default`, `nulls` (not after apply), `validate`, `cel` (rules; `expression`: what those of
//!   policies are for).
//! - `path`, `error`, `pattern`, `golang`, `nested`: where and what an error is, and what Go reads and prints.

#[cfg_attr(not(feature = "cel"), path = "cel/disabled.rs")]
mod cel;
mod default;
#[cfg_attr(not(feature = "descriptions"), path = "descriptions/disabled.rs")]
pub(crate) mod descriptions;
mod duplicates;
pub(crate) mod error;
mod expression;
pub(crate) mod golang;
pub(crate) mod model;
pub(crate) mod nested;
mod nulls;
mod openapi;
mod parse;
mod path;
mod pattern;
mod prune;
mod structural;
pub(crate) mod types;
mod validate;
pub(crate) mod yaml;

pub(crate) use cel::{CelValue, Expression, Scope, authorizer, cel_map, untyped};
pub(crate) use duplicates::problems_in_order;
pub(crate) use error::{ErrorList, FieldError, RuleViolations};
pub(crate) use expression::{AccessCheck, Authorize, PolicyExpression, REQUEST_RESOURCE, Returns};
pub(crate) use model::Schema;
pub(crate) use validate::format::is_recognized as is_format;
