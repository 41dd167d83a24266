//! `Default`, if it is among the additional derives.

use proc_macro2::TokenStream;
use quote::quote;

use crate::parse::CustomResource;

pub(super) fn default(model: &CustomResource) -> TokenStream {
    if !model.default {
        return TokenStream::new();
    }
    let CustomResource { root, .. } = model;
    let std = &model.crates.std;
    let default = quote!(#std::default::Default::default());
    let status = model.status.as_ref().map(|_| quote!(status: #default,));
    quote! {
        #[automatically_derived]
        impl #std::default::Default for #root {
            fn default() -> Self {
                Self { metadata: #default, spec: #default, #status }
            }
        }
    }
}
