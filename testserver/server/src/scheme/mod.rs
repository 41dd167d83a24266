//! The kinds that the server serves, and their discovery and OpenAPI documents.
//!
//! `builtin` has the table of built-in kinds; `runtime_config` says which of their versions are switched on, `equivalent` which are stored as another kind. A `resource` is made of each (`fields`, `columns`) and found by `lookup`. `discovery`, `openapi` and `openapi_v2` are the documents about them, `openapi_hash` tells whether one has changed.

pub(crate) mod builtin;
#[cfg(feature = "tables")]
pub(crate) mod columns;
pub(crate) mod discovery;
mod equivalent;
mod fields;
mod lookup;
pub(crate) mod openapi;
mod openapi_custom;
pub(crate) mod openapi_hash;
pub(crate) mod openapi_v2;
mod resource;
mod runtime_config;

#[cfg(feature = "tables")]
pub(crate) use columns::PrinterColumn;
pub(crate) use equivalent::autoscaler;
pub(crate) use fields::ScalePaths;
pub(crate) use lookup::Scheme;
pub(crate) use resource::{Endpoint, Resource, Subresource, TableId, Version};
pub(crate) use runtime_config::RuntimeConfig;
