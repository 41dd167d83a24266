//! `#[derive(Resource)]`: the kind of another type with the metadata of this one.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::parse::{Inherit, Metadata};

pub(crate) fn inherit(model: &Inherit) -> TokenStream {
    let Inherit { ident, generics, inherit, metadata, kube_core, k8s_openapi } = model;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let inherited = quote!(<#inherit as #kube_core::Resource>);
    let object_meta = quote!(#k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta);
    let kind_methods = ["group", "kind", "version", "api_version", "plural"].map(|name| {
        let name = format_ident!("{name}");
        quote! {
            fn #name(dt: &Self::DynamicType) -> ::std::borrow::Cow<'_, str> {
                #inherited::#name(dt)
            }
        }
    });
    let (meta, meta_mut) = match metadata {
        Metadata::Field => (quote!(&self.metadata), quote!(&mut self.metadata)),
        Metadata::Variants(variants) => {
            let by_variant = quote!(match self { #(Self::#variants { metadata, .. } => metadata,)* });
            (by_variant.clone(), by_variant)
        }
    };
    quote! {
        #[automatically_derived]
        impl #impl_generics #kube_core::Resource for #ident #type_generics #where_clause {
            type DynamicType = #inherited::DynamicType;
            type Scope = #inherited::Scope;

            #(#kind_methods)*

            fn meta(&self) -> &#object_meta {
                #meta
            }

            fn meta_mut(&mut self) -> &mut #object_meta {
                #meta_mut
            }
        }
    }
}
