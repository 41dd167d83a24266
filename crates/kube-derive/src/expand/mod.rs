//! Generates Rust code from the models: one file per generated item.
//!
//! Of `#[derive(CustomResource)]`: `root` is the struct; `resource`, `spec`, `definition`, `serialize`, `deserialize`, `default`, `schema`
//! and `cel` implement traits for it. `kube_schema` and `inherit` are the other two derives.

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
    let cel_methods = cel::object_methods(model);
    let impls = [
        serialize::serialize(model),
        deserialize::deserialize(model),
        default::default(model),
        resource::resource(model),
        spec::spec(model),
        schema::schema(model),
        schema::assert_kube_schema(model),
        definition::custom_resource_ext(model),
    ];
    quote! {
        #root
        #cel_methods
        // The user's types may be deprecated, and the user's lints stricter than ours.
        #[allow(deprecated, clippy::expect_used, clippy::needless_update, clippy::panic)]
        const _: () = { #(#impls)* };
    }
}
