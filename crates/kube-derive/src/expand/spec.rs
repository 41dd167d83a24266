//! `HasSpec` and `HasStatus`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::parse::CustomResource;

pub(super) fn spec(model: &CustomResource) -> TokenStream {
    let CustomResource { root, spec, .. } = model;
    let (kube_core, std) = (&model.crates.kube_core, &model.crates.std);
    let has_status = model.status.as_ref().map(|status| {
        quote! {
            #[automatically_derived]
            impl #kube_core::object::HasStatus for #root {
                type Status = #status;

                fn status(&self) -> #std::option::Option<&#status> {
                    self.status.as_ref()
                }

                fn status_mut(&mut self) -> &mut #std::option::Option<#status> {
                    &mut self.status
                }
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #kube_core::object::HasSpec for #root {
            type Spec = #spec;

            fn spec(&self) -> &#spec {
                &self.spec
            }

            fn spec_mut(&mut self) -> &mut #spec {
                &mut self.spec
            }
        }
        #has_status
    }
}
