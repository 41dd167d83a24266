//! Types of fields, and what a module has to import for them.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::types::error::Error;
use crate::types::model::{Graph, Place, Placed, Ty, TypeId};
use crate::types::shapes::Known;

/// The tokens of one module.
pub(super) struct Module<'m, 'a> {
    pub(super) graph: &'m Graph<'a>,
    pub(super) placed: &'m Placed,
    pub(super) place: Place,
    /// Derives of the program, besides those that every type has.
    pub(super) derives: &'m [syn::Path],
    pub(super) imports: BTreeSet<Import>,
    /// Whether a field tells null from nothing.
    pub(super) tells_null: bool,
}

/// What a module may import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Import {
    BTreeMap,
    CustomResource,
    CustomResourceDefinition,
    Known(Known),
    Serde,
}

impl Import {
    pub(super) fn tokens(self) -> TokenStream {
        let meta = quote!(::k8s_openapi::apimachinery::pkg::apis::meta::v1);
        let path = match self {
            Self::BTreeMap => quote!(::std::collections::BTreeMap),
            Self::CustomResource => quote!(::kube::CustomResource),
            Self::CustomResourceDefinition => {
                quote!(::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition)
            }
            Self::Known(Known::Condition) => quote!(#meta::Condition),
            Self::Known(Known::IntOrString) => {
                quote!(::k8s_openapi::apimachinery::pkg::util::intstr::IntOrString)
            }
            Self::Known(Known::LabelSelector) => quote!(#meta::LabelSelector),
            Self::Known(Known::ObjectReference) => quote!(::k8s_openapi::api::core::v1::ObjectReference),
            Self::Known(Known::Quantity) => quote!(::k8s_openapi::apimachinery::pkg::api::resource::Quantity),
            Self::Known(Known::Time) => quote!(#meta::Time),
            Self::Serde => quote!(::serde::{Deserialize, Serialize}),
        };
        quote!(use #path;)
    }
}

impl Module<'_, '_> {
    pub(super) fn ty(&mut self, ty: &Ty) -> Result<TokenStream, Error> {
        Ok(match ty {
            Ty::Bool => quote!(bool),
            Ty::Int32 => quote!(i32),
            Ty::Int64 => quote!(i64),
            Ty::Float => quote!(f64),
            Ty::Text => quote!(String),
            Ty::Any => quote!(::serde_json::Value),
            Ty::Known(known) => {
                self.imports.insert(Import::Known(*known));
                let name = format_ident!("{}", format!("{known:?}"));
                quote!(#name)
            }
            Ty::Custom(text) => {
                let found: syn::Type = syn::parse_str(text)
                    .map_err(|err| Error::Overrides { file: text.to_string(), reason: err.to_string() })?;
                quote!(#found)
            }
            Ty::Named(id) => self.path(*id),
            Ty::Nullable(inner) => {
                let inner = self.ty(inner)?;
                quote!(Option<#inner>)
            }
            Ty::List(inner) => {
                let inner = self.ty(inner)?;
                quote!(Vec<#inner>)
            }
            Ty::Map(inner) => {
                self.imports.insert(Import::BTreeMap);
                let inner = self.ty(inner)?;
                quote!(BTreeMap<String, #inner>)
            }
        })
    }

    /// The path to a type of the run: as long as the way to its module.
    fn path(&self, id: TypeId) -> TokenStream {
        let (place, name) = &self.placed.types[id.0];
        let name = format_ident!("{name}");
        match (self.place, place) {
            (here, there) if here == *there => quote!(#name),
            (Place::Version(..), Place::Run) => quote!(super::super::super::shared::#name),
            (_, Place::Run) => quote!(super::super::shared::#name),
            _ => quote!(super::#name),
        }
    }
}
