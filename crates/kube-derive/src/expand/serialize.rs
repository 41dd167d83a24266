//! `Serialize`: apiVersion and kind, from the type, come first; an absent status is omitted.

use proc_macro2::TokenStream;
use quote::quote;

use super::root::path_string;
use crate::parse::CustomResource;

pub(super) fn serialize(model: &CustomResource) -> TokenStream {
    let CustomResource { root, .. } = model;
    let (serde, std) = (&model.crates.serde, &model.crates.std);
    let body = if model.no_spec { flattened(model) } else { fields(model) };
    quote! {
        #[automatically_derived]
        impl #serde::Serialize for #root {
            fn serialize<__S: #serde::Serializer>(&self, serializer: __S) -> #std::result::Result<__S::Ok, __S::Error> {
                #body
            }
        }
    }
}

fn fields(model: &CustomResource) -> TokenStream {
    let CustomResource { kind, .. } = model;
    let (serde, std) = (&model.crates.serde, &model.crates.std);
    let api_version = api_version(model);
    let (count, status) = match model.status {
        None => (quote!(4), None),
        Some(_) => (
            quote!(4 + #std::primitive::usize::from(self.status.is_some())),
            Some(quote! {
                if let #std::option::Option::Some(status) = &self.status {
                    object.serialize_field("status", status)?;
                }
            }),
        ),
    };
    quote! {
        use #serde::ser::SerializeStruct as _;
        let mut object = serializer.serialize_struct(#kind, #count)?;
        object.serialize_field("apiVersion", #api_version)?;
        object.serialize_field("kind", #kind)?;
        object.serialize_field("metadata", &self.metadata)?;
        object.serialize_field("spec", &self.spec)?;
        #status
        object.end()
    }
}

/// For `no_spec`: serde flattens the fields of the spec.
fn flattened(model: &CustomResource) -> TokenStream {
    let CustomResource { kind, spec, .. } = model;
    let (serde, std, k8s_openapi) = (&model.crates.serde, &model.crates.std, &model.crates.k8s_openapi);
    let api_version = api_version(model);
    let serde_crate = path_string(serde);
    let skip_none = format!("{}::option::Option::is_none", path_string(std));
    let (status_field, status) = match &model.status {
        None => (None, None),
        Some(status) => (
            Some(quote! {
                #[serde(skip_serializing_if = #skip_none)]
                status: #std::option::Option<&'a #status>,
            }),
            Some(quote!(status: self.status.as_ref(),)),
        ),
    };
    quote! {
        #[derive(#serde::Serialize)]
        #[serde(crate = #serde_crate, rename_all = "camelCase")]
        struct __Object<'a> {
            api_version: &'static str,
            kind: &'static str,
            metadata: &'a #k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            #[serde(flatten)]
            spec: &'a #spec,
            #status_field
        }
        #serde::Serialize::serialize(
            &__Object { api_version: #api_version, kind: #kind, metadata: &self.metadata, spec: &self.spec, #status },
            serializer,
        )
    }
}

fn api_version(model: &CustomResource) -> String {
    format!("{}/{}", model.group, model.version)
}
