//! The kinds that the server serves, and their discovery and OpenAPI documents.

pub(crate) mod builtin;
#[cfg(feature = "tables")]
mod columns;
pub(crate) mod crd;
pub(crate) mod definition;
pub(crate) mod discovery;
mod equivalent;
mod fields;
mod lookup;
pub(crate) mod openapi;
pub(crate) mod openapi_v2;
mod resource;
mod runtime_config;

#[cfg(feature = "tables")]
pub(crate) use columns::PrinterColumn;
pub(crate) use equivalent::autoscaler;
pub(crate) use fields::ScalePaths;
pub(crate) use lookup::Scheme;
pub(crate) use resource::{Endpoint, Resource, Subresource, Version};
pub(crate) use runtime_config::RuntimeConfig;
