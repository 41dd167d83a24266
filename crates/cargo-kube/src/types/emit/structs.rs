//! Structs, which keep what they do not know where the schema says so.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::docs::docs;
use super::ty::{Import, Module};
use crate::types::error::Error;
use crate::types::identifiers::{Names, snake_name};
use crate::types::model::{Field, Presence, Type};

impl Module<'_, '_> {
    /// A struct with these derives and attributes of its own.
    pub(super) fn structure(
        &mut self,
        name: &str,
        found: &Type<'_>,
        (fields, open): (&[Field], bool),
        (derive, attributes): (Option<TokenStream>, TokenStream),
    ) -> Result<TokenStream, Error> {
        self.imports.insert(Import::Serde);
        let mut names = Names::default();
        let idents: Vec<String> = fields.iter().map(|field| names.unique(&snake_name(&field.name))).collect();
        let camel = fields
            .iter()
            .zip(&idents)
            .any(|(field, ident)| *ident != field.name && camel_case(ident) == field.name);
        let rename_all = camel.then(|| quote!(#[serde(rename_all = "camelCase")]));
        let mut members = Vec::new();
        for (at, (field, ident)) in fields.iter().zip(&idents).enumerate() {
            let on_wire = if camel { camel_case(ident) } else { ident.clone() };
            let rename = (on_wire != field.name).then_some(field.name.as_str());
            let doc = common(found.uses.iter().map(|here| here.field_docs.get(at).copied().flatten()));
            members.push(self.field(field, ident, rename, doc)?);
        }
        if open {
            self.imports.insert(Import::BTreeMap);
            let other = format_ident!("{}", names.unique("other"));
            members.push(quote! {
                #[doc = " Fields that the schema does not list."]
                #[serde(flatten)]
                pub #other: BTreeMap<String, ::serde_json::Value>,
            });
        }
        let doc = docs(common(found.uses.iter().map(|here| here.doc)).unwrap_or_default());
        let default = found.has_default.then(|| quote!(Default,));
        let (name, derives) = (format_ident!("{name}"), self.derives);
        Ok(quote! {
            #doc
            #[derive(#derive Clone, Debug, #default PartialEq, Serialize, Deserialize #(, #derives)*)]
            #attributes
            #rename_all
            pub struct #name {
                #(#members)*
            }
        })
    }

    fn field(
        &mut self,
        field: &Field,
        ident: &str,
        rename: Option<&str>,
        doc: Option<&str>,
    ) -> Result<TokenStream, Error> {
        let ty = self.ty(&field.ty)?;
        let skip = quote!(skip_serializing_if = "Option::is_none");
        let (ty, presence) = match field.presence {
            Presence::Required => (ty, None),
            Presence::Optional => (quote!(Option<#ty>), Some(skip)),
            Presence::OptionalOrNull => {
                self.tells_null = true;
                (quote!(Option<Option<#ty>>), Some(quote!(default, deserialize_with = "present", #skip)))
            }
        };
        let rename = rename.map(|name| quote!(rename = #name));
        let serde: Vec<TokenStream> = rename.into_iter().chain(presence).collect();
        let serde = (!serde.is_empty()).then(|| quote!(#[serde(#(#serde),*)]));
        let (doc, ident) = (docs(doc.unwrap_or_default()), format_ident!("{ident}"));
        Ok(quote! {
            #doc
            #serde
            pub #ident: #ty,
        })
    }
}

/// The description if all uses have the same one: that of another use could be wrong here.
pub(super) fn common<'a>(mut docs: impl Iterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let first = docs.next().flatten()?;
    docs.all(|doc| doc == Some(first)).then_some(first)
}

/// As `rename_all = "camelCase"` of serde: the letter after an underscore is in upper case, the rest as it is.
fn camel_case(ident: &str) -> String {
    let mut name = String::with_capacity(ident.len());
    let mut upper = false;
    for c in ident.chars() {
        match c {
            '_' => upper = true,
            c if upper && !name.is_empty() => {
                name.extend(c.to_uppercase());
                upper = false;
            }
            c => {
                name.push(c);
                upper = false;
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_counts_only_if_all_uses_have_it() {
        assert_eq!(common([Some("a"), Some("a")].into_iter()), Some("a"));
        assert_eq!(common([Some("a"), Some("b")].into_iter()), None);
        assert_eq!(common([Some("a"), None].into_iter()), None);
        assert_eq!(common(std::iter::empty()), None);
    }

    #[test]
    fn camel_case_is_that_of_serde() {
        for (ident, wire) in
            [("cluster_ip", "clusterIp"), ("type_", "type"), ("_1st", "1st"), ("a_1", "a1"), ("a", "a")]
        {
            assert_eq!(camel_case(ident), wire);
        }
    }
}
