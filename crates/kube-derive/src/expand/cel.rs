//! The rules as methods, where `cel` asks for them.

use proc_macro2::TokenStream;
use quote::quote;

use crate::parse::{CustomResource, KubeSchema};

pub(super) fn object(model: &CustomResource) -> TokenStream {
    if !model.cel {
        return TokenStream::new();
    }
    let CustomResource { root, .. } = model;
    let (kube_core, std) = (&model.crates.kube_core, &model.crates.std);
    let result = quote!(#std::result::Result<(), #kube_core::cel::ValidationErrors>);
    quote! {
        #[allow(deprecated, unreachable_pub)]
        impl #root {
            /// Checks this new object against the validation rules of its definition, without a server.
            ///
            /// # Errors
            ///
            /// Every rule that is broken, with the path of its field.
            pub fn validate_cel(&self) -> #result {
                #kube_core::cel::validate_cel(self)
            }

            /// Checks the change from `old` to this object against the validation rules of its definition, without a server.
            ///
            /// # Errors
            ///
            /// Every rule that is broken, with the path of its field.
            pub fn validate_cel_update(&self, old: &Self) -> #result {
                #kube_core::cel::validate_cel_update(self, old)
            }
        }
    }
}

pub(super) fn schema(model: &KubeSchema) -> TokenStream {
    if !model.cel {
        return TokenStream::new();
    }
    let KubeSchema { ident, kube_core, serde_json, std, .. } = model;
    quote! {
        #[allow(deprecated, unreachable_pub)]
        impl #ident {
            /// Checks a value against the validation rules of this type, without a server; with `old` also those about changes.
            ///
            /// # Errors
            ///
            /// Every rule that is broken, with the path of its field.
            pub fn validate_cel(
                value: &#serde_json::Value,
                old: #std::option::Option<&#serde_json::Value>,
            ) -> #std::result::Result<(), #kube_core::cel::ValidationErrors> {
                #kube_core::cel::validate_cel_schema::<Self>(value, old)
            }
        }
    }
}
