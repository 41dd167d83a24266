//! Enums of the values that a schema lists, which keep every other value: a new one does not stop a watcher.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::docs::docs;
use super::structs::common;
use super::ty::{Import, Module};
use crate::types::identifiers::{Names, variant_name};
use crate::types::model::Type;

impl Module<'_, '_> {
    pub(super) fn texts(&mut self, name: &str, found: &Type<'_>, values: &[String]) -> TokenStream {
        let names: Vec<String> = values.iter().map(|value| variant_name(value)).collect();
        let Parts { definition, variants } = self.parts(name, found, &names, values, &quote!(String));
        let name = format_ident!("{name}");
        quote! {
            #definition

            impl #name {
                #[doc = " The text on the wire."]
                #[must_use]
                pub fn as_str(&self) -> &str {
                    match self {
                        #(Self::#variants => #values,)*
                        Self::Unknown(text) => text,
                    }
                }
            }

            impl ::std::fmt::Display for #name {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    f.write_str(self.as_str())
                }
            }

            impl From<String> for #name {
                fn from(text: String) -> Self {
                    match text.as_str() {
                        #(#values => Self::#variants,)*
                        _ => Self::Unknown(text),
                    }
                }
            }

            impl From<#name> for String {
                fn from(value: #name) -> Self {
                    match value {
                        #name::Unknown(text) => text,
                        listed => listed.as_str().to_owned(),
                    }
                }
            }
        }
    }

    pub(super) fn integers(&mut self, name: &str, found: &Type<'_>, values: &[i64]) -> TokenStream {
        let texts: Vec<String> = values.iter().map(i64::to_string).collect();
        let names: Vec<String> = texts.iter().map(|text| variant_name(text)).collect();
        let Parts { definition, variants } = self.parts(name, found, &names, &texts, &quote!(i64));
        let values: Vec<TokenStream> = values.iter().map(|value| number(*value)).collect();
        let name = format_ident!("{name}");
        quote! {
            #definition

            impl From<i64> for #name {
                fn from(number: i64) -> Self {
                    match number {
                        #(#values => Self::#variants,)*
                        other => Self::Unknown(other),
                    }
                }
            }

            impl From<#name> for i64 {
                fn from(value: #name) -> Self {
                    match value {
                        #(#name::#variants => #values,)*
                        #name::Unknown(number) => number,
                    }
                }
            }
        }
    }

    /// The enum itself. `#[default]` is the first value: one that the schema allows.
    fn parts(
        &mut self,
        name: &str,
        found: &Type<'_>,
        names: &[String],
        values: &[String],
        unknown: &TokenStream,
    ) -> Parts {
        self.imports.insert(Import::Serde);
        let mut scope = Names::with(&["Unknown"]);
        let variants: Vec<_> = names.iter().map(|name| format_ident!("{}", scope.unique(name))).collect();
        let texts = values.iter().map(|value| docs(&format!("`{value}`")));
        let default = std::iter::once(Some(quote!(#[default]))).chain(std::iter::repeat(None));
        let doc = docs(common(found.uses.iter().map(|here| here.doc)).unwrap_or_default());
        let (name, derives, wire) = (format_ident!("{name}"), self.derives, unknown.to_string());
        let definition = quote! {
            #doc
            #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize #(, #derives)*)]
            #[serde(from = #wire, into = #wire)]
            pub enum #name {
                #(#texts #default #variants,)*
                #[doc = " A value that the schema does not list."]
                Unknown(#unknown),
            }
        };
        Parts { definition, variants }
    }
}

struct Parts {
    definition: TokenStream,
    variants: Vec<proc_macro2::Ident>,
}

/// A sign is a token of its own.
fn number(value: i64) -> TokenStream {
    let digits = Literal::u64_unsuffixed(value.unsigned_abs());
    if value < 0 { quote!(-#digits) } else { quote!(#digits) }
}
