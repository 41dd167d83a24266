//! Values that several attributes take.

use darling::{Error, FromMeta, ast::NestedMeta};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Expr, Lit, Meta};

/// `key("a", "b")`.
pub(crate) struct KeyValue {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromMeta for KeyValue {
    fn from_list(items: &[NestedMeta]) -> darling::Result<Self> {
        match items {
            [NestedMeta::Lit(Lit::Str(key)), NestedMeta::Lit(Lit::Str(value))] => {
                Ok(Self { key: key.value(), value: value.value() })
            }
            _ => Err(Error::custom(r#"expected two strings: ("key", "value")"#)),
        }
    }
}

/// A CEL rule: text, `("rule", "message")` or any expression that is a `Rule`.
pub(crate) struct Validation(Expr);

impl FromMeta for Validation {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        match item {
            Meta::NameValue(pair) => Self::from_expr(&pair.value),
            _ => Err(Error::custom(
                r#"expected `validation = "rule"`, `validation = ("rule", "message")` or `validation = Rule::new(..)`"#,
            )
            .with_span(item)),
        }
    }

    fn from_expr(expr: &Expr) -> darling::Result<Self> {
        match expr {
            Expr::Lit(literal) if !matches!(literal.lit, Lit::Str(_)) => {
                Err(Error::unexpected_lit_type(&literal.lit).with_span(expr))
            }
            _ => Ok(Self(expr.clone())),
        }
    }
}

/// An expression that is an `impl Into<Rule>`.
impl ToTokens for Validation {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

/// The names that expressions in attributes may use without importing them.
pub(crate) fn in_scope(kube_core: &syn::Path, expr: &impl ToTokens) -> TokenStream {
    quote! {{
        #[allow(unused_imports)]
        use #kube_core::{ListMerge, MapMerge, Message, Reason, Rule, StructMerge};
        #expr
    }}
}
