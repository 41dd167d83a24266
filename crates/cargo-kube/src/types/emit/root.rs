//! The struct from which `#[derive(CustomResource)]` makes a kind.

use proc_macro2::TokenStream;
use quote::quote;

use super::docs::doc_text;
use super::ty::{Import, Module};
use crate::types::error::Error;
use crate::types::model::{Root, Ty, Type};
use crate::types::read::Definition;

impl Module<'_, '_> {
    /// The derive and its attributes. The definition is that of the input, with this version alone.
    pub(super) fn custom_resource(
        &mut self,
        definition: &Definition,
        root: &Root<'_>,
        (name, body): (&str, &Type<'_>),
    ) -> Result<(TokenStream, TokenStream), Error> {
        self.imports.insert(Import::CustomResource);
        let spec = &definition.crd.spec;
        let (group, kind, plural) = (&spec.group, &spec.names.kind, &spec.names.plural);
        let version = &spec.versions[root.version].name;
        let short_names = spec.names.short_names.iter().flatten().map(|name| quote!(, shortname = #name));
        let renamed = (name != kind.as_str()).then(|| quote!(, root = #name));
        let namespaced = (spec.scope == "Namespaced").then(|| quote!(, namespaced));
        let no_spec = root.no_spec.then(|| quote!(, no_spec));
        let optional_spec = root.optional_spec.then(|| quote!(, optional_spec));
        let default = body.has_default.then(|| quote!(, derive = "Default"));
        // The field is an `Option`, also if the status may be null.
        let status = root.status.as_ref().map(|status| match status {
            Ty::Nullable(inner) => self.ty(inner),
            status => self.ty(status),
        });
        let status =
            status.transpose()?.map(|status| status.to_string()).map(|status| quote!(, status = #status));
        let doc = root.doc.map(doc_text).filter(|text| !text.is_empty());
        let doc = doc.unwrap_or_else(|| format!("{kind} of {group}/{version}"));
        let attributes = quote! {
            #[kube(group = #group, version = #version, kind = #kind #renamed, plural = #plural #namespaced #(#short_names)*)]
            #[kube(doc = #doc, derive = "PartialEq" #default #status #no_spec #optional_spec, definition = "definition")]
        };
        Ok((quote!(CustomResource,), attributes))
    }

    /// The function that the derive calls.
    pub(super) fn definition(&mut self, definition: &Definition, root: &Root<'_>) -> TokenStream {
        self.imports.insert(Import::CustomResourceDefinition);
        let version = &definition.crd.spec.versions[root.version].name;
        quote! {
            #[doc = " The definition with this version alone."]
            fn definition() -> CustomResourceDefinition {
                let mut crd = super::crd();
                crd.spec.versions.retain(|version| version.name == #version);
                crd
            }
        }
    }
}
