//! Parses attributes into models. All errors are accumulated and reported together.
//!
//! `attributes` hands out the entries of an attribute, whose forms `value` reads and `errors` collects what is wrong with.
//! `custom_resource`, with `definition`, `kube_schema` and `inherit` are the models, `crates` is a part of each. `fields` reads serde's and
//! schemars' attributes; `allowed` and `handwritten` find what servers would refuse.

mod allowed;
mod attributes;
mod crates;
mod custom_resource;
mod definition;
mod errors;
mod fields;
mod handwritten;
mod inherit;
mod kube_schema;
#[cfg(test)]
mod tests;
mod value;

use attributes::Attributes;
pub(crate) use crates::{Crates, kube_core_of};
pub(crate) use custom_resource::{CustomResource, Schema, custom_resource};
pub(crate) use definition::{Deprecated, PrintColumn, Scale};
pub(crate) use fields::{Length, flattened_option};
pub(crate) use inherit::{Inherit, Metadata, inherit};
pub(crate) use kube_schema::{Field, KubeSchema, kube_schema};
pub(crate) use value::{KeyValue, Validation, in_scope};
