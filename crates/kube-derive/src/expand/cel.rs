//! With `cel`: methods that evaluate the rules.

use proc_macro2::TokenStream;
use quote::quote;

use crate::parse::{CustomResource, KubeSchema};

pub(super) fn object_methods(model: &CustomResource) -> TokenStream {
    if !model.cel {
        return TokenStream::new();
    }
    let CustomResource { root, .. } = model;
    let (kube_core, std) = (&model.crates.kube_core, &model.crates.std);
    let result = quote!(#std::result::Result<(), #kube_core::cel::ValidationErrors>);
    quote! {
        #[allow(deprecated, unreachable_pub)]
        impl #root {
            /// Evaluates the validation rules of the definition on this new object, without a server.
            ///
            /// # Errors
            ///
            /// All violated rules, with the paths of their fields.
            pub fn validate_cel(&self) -> #result {
                #kube_core::cel::validate_cel(self)
            }

            /// Evaluates the validation rules of the definition on the change from `old` to this object, without a server.
            ///
            /// # Errors
            ///
            /// All violated rules, with the paths of their fields.
            pub fn validate_cel_update(&self, old: &Self) -> #result {
                #kube_core::cel::validate_cel_update(self, old)
            }
        }
    }
}

pub(super) fn schema_methods(model: &KubeSchema) -> TokenStream {
    if !model.cel {
        return TokenStream::new();
    }
    let KubeSchema { ident, kube_core, serde_json, std, .. } = model;
    quote! {
        #[allow(deprecated, unreachable_pub)]
        impl #ident {
            /// Evaluates the validation rules of this type on a value, without a server; with `old` also the rules about changes.
            ///
            /// # Errors
            ///
            /// All violated rules, with the paths of their fields.
            pub fn validate_cel(
                value: &#serde_json::Value,
                old: #std::option::Option<&#serde_json::Value>,
            ) -> #std::result::Result<(), #kube_core::cel::ValidationErrors> {
                #kube_core::cel::validate_cel_schema::<Self>(value, old)
            }
        }
    }
}
