//! `Deserialize` for `no_spec`: apiVersion and kind must not end up in a spec with a flattened map. In all other cases it is
//! derived.

use proc_macro2::TokenStream;
use quote::quote;

use super::root::path_string;
use crate::parse::CustomResource;

pub(super) fn deserialize(model: &CustomResource) -> TokenStream {
    if !model.no_spec {
        return TokenStream::new();
    }
    let CustomResource { root, spec, .. } = model;
    let (serde, std, k8s_openapi) = (&model.crates.serde, &model.crates.std, &model.crates.k8s_openapi);
    let serde_crate = path_string(serde);
    let (status_field, status) = match &model.status {
        None => (None, None),
        Some(status) => {
            (Some(quote!(status: #std::option::Option<#status>,)), Some(quote!(status: object.status,)))
        }
    };
    quote! {
        #[automatically_derived]
        impl<'de> #serde::Deserialize<'de> for #root {
            fn deserialize<__D: #serde::Deserializer<'de>>(deserializer: __D) -> #std::result::Result<Self, __D::Error> {
                #[derive(#serde::Deserialize)]
                #[serde(crate = #serde_crate, rename_all = "camelCase")]
                struct __Object {
                    #[serde(default, rename = "apiVersion")]
                    _api_version: #serde::de::IgnoredAny,
                    #[serde(default, rename = "kind")]
                    _kind: #serde::de::IgnoredAny,
                    metadata: #k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
                    #[serde(flatten)]
                    spec: #spec,
                    #status_field
                }
                let object = <__Object as #serde::Deserialize<'de>>::deserialize(deserializer)?;
                #std::result::Result::Ok(Self { metadata: object.metadata, spec: object.spec, #status })
            }
        }
    }
}
