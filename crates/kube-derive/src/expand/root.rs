//! The struct of the whole object, and its constructor.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::parse::{CustomResource, KeyValue};

pub(super) fn root(model: &CustomResource) -> TokenStream {
    let CustomResource { spec, vis, root, derives, attrs, no_spec, .. } = model;
    let (k8s_openapi, serde, std) = (&model.crates.k8s_openapi, &model.crates.serde, &model.crates.std);
    let doc = description(model);
    let metadata = quote!(#k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta);
    let status = model.status.as_ref().map(|status| {
        quote! {
            /// The observed state of the object.
            #vis status: #std::option::Option<#status>,
        }
    });
    // For `no_spec` a derive is not enough: see `deserialize`.
    let (deserialize, serde_attribute) = if *no_spec {
        (None, None)
    } else {
        let serde_crate = path_string(serde);
        (
            Some(quote!(#serde::Deserialize,)),
            Some(quote!(#[serde(crate = #serde_crate, rename_all = "camelCase")])),
        )
    };
    let default_spec = model.optional_spec.then(|| quote!(#[serde(default)]));
    let new = constructor(model);
    quote! {
        #[doc = #doc]
        #[derive(#deserialize #std::clone::Clone, #std::fmt::Debug #(, #derives)*)]
        #(#attrs)*
        #serde_attribute
        #vis struct #root {
            /// Name, namespace, labels and the other object metadata.
            #vis metadata: #metadata,
            /// The desired state of the object.
            #default_spec
            #vis spec: #spec,
            #status
        }
        #new
    }
}

fn constructor(model: &CustomResource) -> TokenStream {
    let CustomResource { spec, root, .. } = model;
    let std = &model.crates.std;
    let k8s_openapi = &model.crates.k8s_openapi;
    let doc = format!(
        " A new object with this name and spec{}.",
        if model.status.is_some() { ", without a status" } else { "" }
    );
    let annotations = string_map(model, "annotations", &model.annotations);
    let labels = string_map(model, "labels", &model.labels);
    let status = model.status.as_ref().map(|_| quote!(status: #std::option::Option::None,));
    quote! {
        #[allow(deprecated, unreachable_pub)]
        impl #root {
            #[doc = #doc]
            #[must_use]
            pub fn new(name: &str, spec: #spec) -> Self {
                Self {
                    metadata: #k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                        name: #std::option::Option::Some(#std::string::String::from(name)),
                        #annotations
                        #labels
                        ..#std::default::Default::default()
                    },
                    spec,
                    #status
                }
            }
        }
    }
}

/// `field: Some(map),` for metadata, or nothing without entries.
pub(super) fn string_map(model: &CustomResource, field: &str, entries: &[KeyValue]) -> Option<TokenStream> {
    let std = &model.crates.std;
    let field = quote::format_ident!("{field}");
    let entries = entries.iter().map(|KeyValue { key, value }| {
        quote!((#std::string::String::from(#key), #std::string::String::from(#value)))
    });
    (entries.len() > 0).then(
        || quote!(#field: #std::option::Option::Some(#std::collections::BTreeMap::from([#(#entries),*])),),
    )
}

/// The description of the kind, for Rust and for the schema.
pub(super) fn description(model: &CustomResource) -> String {
    model
        .doc
        .clone()
        .unwrap_or_else(|| format!(" Auto-generated derived type for {} via `CustomResource`", model.spec))
}

/// A path in the form of serde's `crate = ".."`.
pub(super) fn path_string(path: &syn::Path) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
