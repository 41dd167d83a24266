//! From models to Rust: one file per item that is written.

mod cel;
mod default;
mod definition;
mod deserialize;
mod inherit;
mod kube_schema;
mod resource;
mod root;
mod schema;
mod serialize;
mod spec;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;
use quote::quote;

pub(crate) use inherit::inherit;
pub(crate) use kube_schema::kube_schema;

use crate::parse::CustomResource;

/// All items of a custom resource.
pub(crate) fn custom_resource(model: &CustomResource) -> TokenStream {
    let root = root::root(model);
    let rules = cel::object(model);
    let impls = [
        serialize::serialize(model),
        deserialize::deserialize(model),
        default::default(model),
        resource::resource(model),
        spec::spec(model),
        schema::schema(model),
        schema::rules_are_read(model),
        definition::custom_resource_ext(model),
    ];
    quote! {
        #root
        #rules
        // The types of the program may be deprecated, and its lints stricter than ours.
        #[allow(deprecated, clippy::expect_used, clippy::needless_update, clippy::panic)]
        const _: () = { #(#impls)* };
    }
}
