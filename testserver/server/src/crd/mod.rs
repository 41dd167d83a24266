//! Custom resources: from a CustomResourceDefinition to the resource that is served, and conversion between its versions.
//!
//! `definition` has the rules of definitions, `compile` completes a definition and makes the resource from it, `serve` serves it and stops
//! to when the definition is deleted, `conversion` converts objects. Schemas are in [`schema`](crate::schema): built-in kinds have them
//! too.

mod compile;
pub(crate) mod conversion;
mod definition;
mod serve;

pub(crate) use compile::{CLEANUP, accept, complete, record_stored_versions, terminate};
pub(crate) use definition::{format_warnings as definition_warnings, validate as validate_definition};
pub(crate) use serve::{observe, serve};

use compile::{compile, is_established};
