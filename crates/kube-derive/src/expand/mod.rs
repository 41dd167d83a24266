//! From models to Rust: one file per item that is written.

mod default;
mod definition;
mod inherit;
mod kube_schema;
mod resource;
mod root;
mod schema;
mod serialize;
mod spec;

use proc_macro2::TokenStream;

pub(crate) use inherit::inherit;
pub(crate) use kube_schema::kube_schema;

use crate::parse::CustomResource;

/// All items of a custom resource.
pub(crate) fn custom_resource(model: &CustomResource) -> TokenStream {
    [
        root::root(model),
        serialize::serialize(model),
        default::default(model),
        resource::resource(model),
        spec::spec(model),
        schema::schema(model),
        definition::custom_resource_ext(model),
    ]
    .into_iter()
    .collect()
}
