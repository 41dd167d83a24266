//! The kinds that the server serves, and their discovery and OpenAPI documents.
//!
//! - `builtin`: the table of built-in kinds; `runtime_config`: which of their versions are switched on; `equivalent`: which are stored as
//!   another kind.
//! - `resource`: what is served of a kind, with its `fields` and `columns`; `lookup`: the resources by path, kind and table.
//! - `discovery`, `openapi` (with `openapi_custom`), `openapi_v2`: the documents about them; `openapi_index`: the hashes of documents.

pub(crate) mod builtin;
#[cfg(feature = "tables")]
pub(crate) mod columns;
pub(crate) mod discovery;
mod equivalent;
mod fields;
mod lookup;
pub(crate) mod openapi;
mod openapi_custom;
pub(crate) mod openapi_index;
pub(crate) mod openapi_v2;
mod resource;
mod runtime_config;

#[cfg(feature = "tables")]
pub(crate) use columns::PrinterColumn;
pub(crate) use equivalent::autoscaler;
pub(crate) use fields::ScalePaths;
pub(crate) use lookup::Scheme;
pub(crate) use resource::{Endpoint, Resource, Subresource, TableId, Version, is_definition};
pub(crate) use runtime_config::RuntimeConfig;
