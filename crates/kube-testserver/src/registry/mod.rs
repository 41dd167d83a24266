//! What kinds the server knows.

pub(crate) mod builtin;
mod conversion;
pub(crate) mod crd;
pub(crate) mod discovery;
mod fields;
mod groups;
pub(crate) mod openapi;
mod resource;
pub(crate) mod swagger;
mod twin;

pub(crate) use groups::Registry;
pub(crate) use resource::{Column, Endpoint, Resource, ScalePaths, Subresource, Version};
pub(crate) use twin::autoscaler;
