//! One module: its imports, its types, its helpers.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::ty::{Import, Module};
use crate::types::error::Error;
use crate::types::model::{Graph, Place, Placed, Root, Shape};
use crate::types::read::Definitions;

/// What all modules are made from.
pub(super) struct Run<'r, 'a> {
    pub(super) definitions: &'r Definitions,
    pub(super) graph: &'r Graph<'a>,
    pub(super) placed: &'r Placed,
    pub(super) derives: &'r [syn::Path],
}

impl<'r, 'a> Run<'r, 'a> {
    /// The types for several kinds; `None` if there are none.
    pub(super) fn shared(&self) -> Result<Option<TokenStream>, Error> {
        if !self.placed.by_place.contains_key(&Place::Run) {
            return Ok(None);
        }
        self.module(Place::Run, TokenStream::new(), |_| Ok(TokenStream::new())).map(Some)
    }

    /// A kind: its definition, from a file at this path, and all of its versions.
    pub(super) fn kind(&self, kind: usize, json: &str) -> Result<TokenStream, Error> {
        let roots = self.graph.roots.iter().enumerate().filter(|(_, root)| root.kind == kind);
        let versions = roots.map(|(at, root)| {
            let module = format_ident!("{}", self.placed.modules[kind].versions[root.version]);
            let items = self.version(root, &self.placed.roots[at])?;
            Ok(quote!(pub mod #module { #items }))
        });
        let versions = versions.collect::<Result<Vec<_>, Error>>()?;
        let name = self.definitions.entries()[kind].crd.metadata.name.as_deref().unwrap_or_default();
        let doc = super::docs::docs(&format!(
            "The definition of `{name}` with all of its versions, as it was read."
        ));
        self.module(Place::Kind(kind), quote!(#(#versions)*), |module| {
            module.imports.insert(Import::CustomResourceDefinition);
            Ok(quote! {
                #doc
                #[doc = ""]
                #[doc = " Each call parses it."]
                #[must_use]
                pub fn crd() -> CustomResourceDefinition {
                    ::serde_json::from_str(include_str!(#json)).expect("cargo kube gen wrote this definition")
                }
            })
        })
    }

    fn version(&self, root: &Root<'_>, name: &str) -> Result<TokenStream, Error> {
        let definition = &self.definitions.entries()[root.kind];
        self.module(Place::Version(root.kind, root.version), TokenStream::new(), |module| {
            let body = &module.graph.types[root.body.0];
            let own = module.custom_resource(definition, root, (name, body))?;
            let Shape::Struct { fields, open } = &body.shape else { return Ok(TokenStream::new()) };
            let struct_name = &module.placed.types[root.body.0].1;
            let body = module.structure(struct_name, body, (fields, *open), (Some(own.0), own.1))?;
            let function = module.definition(definition, root);
            Ok(quote!(#body #function))
        })
    }

    /// A module with the types of this place between what is `first` and `last` in it.
    fn module(
        &self,
        place: Place,
        last: TokenStream,
        first: impl FnOnce(&mut Module<'r, 'a>) -> Result<TokenStream, Error>,
    ) -> Result<TokenStream, Error> {
        let Self { graph, placed, derives, .. } = *self;
        let mut module =
            Module { graph, placed, place, derives, imports: BTreeSet::new(), tells_null: false };
        let first = first(&mut module)?;
        let bodies: BTreeSet<_> =
            graph.roots.iter().filter(|root| is_at(root, place)).map(|root| root.body).collect();
        let ids = placed.by_place.get(&place).into_iter().flatten().filter(|id| !bodies.contains(id));
        let mut items = Vec::new();
        for id in ids {
            let (found, name) = (&graph.types[id.0], &placed.types[id.0].1);
            items.push(match &found.shape {
                Shape::Struct { fields, open } => {
                    module.structure(name, found, (fields, *open), (None, TokenStream::new()))?
                }
                Shape::Texts(values) => module.texts(name, found, values),
                Shape::Integers(values) => module.integers(name, found, values),
            });
        }
        let present = module.tells_null.then(present);
        let imports = module.imports.iter().map(|import| import.tokens());
        Ok(quote! {
            #(#imports)*
            #first
            #(#items)*
            #present
            #last
        })
    }
}

fn is_at(root: &Root<'_>, place: Place) -> bool {
    Place::Version(root.kind, root.version) == place
}

fn present() -> TokenStream {
    quote! {
        #[doc = " Reads null as `Some(None)`; a field that is absent is `None`."]
        fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
        where
            D: ::serde::Deserializer<'de>,
            T: Deserialize<'de>,
        {
            T::deserialize(deserializer).map(Some)
        }
    }
}
