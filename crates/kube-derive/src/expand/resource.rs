//! `Resource`: the kind and scope.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::parse::CustomResource;

pub(super) fn resource(model: &CustomResource) -> TokenStream {
    let CustomResource { root, group, kind, version, plural, namespaced, .. } = model;
    let (kube_core, k8s_openapi, std) =
        (&model.crates.kube_core, &model.crates.k8s_openapi, &model.crates.std);
    let scope =
        format_ident!("{}", if *namespaced { "NamespaceResourceScope" } else { "ClusterResourceScope" });
    let api_version = format!("{group}/{version}");
    let metadata = quote!(#k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta);
    let kind_methods = [
        ("group", group),
        ("kind", kind),
        ("version", version),
        ("api_version", &api_version),
        ("plural", plural),
    ];
    let kind_methods = kind_methods.iter().map(|(name, value)| {
        let name = format_ident!("{name}");
        quote! {
            fn #name(_: &()) -> #std::borrow::Cow<'_, str> {
                #std::borrow::Cow::Borrowed(#value)
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #kube_core::Resource for #root {
            type DynamicType = ();
            type Scope = #kube_core::#scope;

            #(#kind_methods)*

            fn meta(&self) -> &#metadata {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut #metadata {
                &mut self.metadata
            }
        }
    }
}
