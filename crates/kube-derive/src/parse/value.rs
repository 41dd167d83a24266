//! Types of values that several attributes have.

use darling::{Error, FromMeta, ast::NestedMeta};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Expr, ExprLit, Lit, Meta, Path, spanned::Spanned};

/// Sets the span of `item` for errors without a span.
pub(crate) fn located(error: Error, item: &impl Spanned) -> Error {
    let errors: Vec<Error> = error.flatten().into_iter().map(|error| error.with_span(item)).collect();
    if errors.is_empty() { Error::custom("unknown error") } else { Error::multiple(errors) }
}

/// `key("a", "b")`.
pub(crate) struct KeyValue {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromMeta for KeyValue {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        let items = match item {
            Meta::List(list) => NestedMeta::parse_meta_list(list.tokens.clone())?,
            _ => Vec::new(),
        };
        match &items[..] {
            [NestedMeta::Lit(Lit::Str(key)), NestedMeta::Lit(Lit::Str(value))] => {
                Ok(Self { key: key.value(), value: value.value() })
            }
            _ => Err(Error::custom(r#"expected two strings: ("key", "value")"#).with_span(item)),
        }
    }
}

/// The path of a type, with or without quotes.
pub(crate) struct TypePath(pub(crate) Path);

impl FromMeta for TypePath {
    fn from_expr(expr: &Expr) -> darling::Result<Self> {
        let fail = || Error::custom("expected the path of a type").with_span(expr);
        match expr {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.parse().map(Self).map_err(|_| fail()),
            // A type with arguments (`Foo<Bar>`) is no expression and needs quotes.
            Expr::Path(path) if path.qself.is_none() => Ok(Self(path.path.clone())),
            Expr::Group(group) => Self::from_expr(&group.expr),
            _ => Err(fail()),
        }
    }
}

/// A CEL rule: a string, `("rule", "message")` or an expression of type `Rule`.
pub(crate) struct Validation(Expr);

impl FromMeta for Validation {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        match item {
            Meta::NameValue(pair) => Self::from_expr(&pair.value),
            _ => Err(invalid_validation(item)),
        }
    }

    fn from_expr(expr: &Expr) -> darling::Result<Self> {
        match expr {
            Expr::Lit(literal) if !matches!(literal.lit, Lit::Str(_)) => Err(invalid_validation(expr)),
            _ => Ok(Self(expr.clone())),
        }
    }
}

fn invalid_validation(at: &impl Spanned) -> Error {
    Error::custom(
        r#"expected `validation = "rule"`, `validation = ("rule", "message")` or `validation = Rule::new(..)`"#,
    )
    .with_span(at)
}

/// An expression of a type that is `Into<Rule>`.
impl ToTokens for Validation {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

/// Brings the names that expressions in attributes may use into scope.
pub(crate) fn in_scope(kube_core: &Path, expr: &impl ToTokens) -> TokenStream {
    quote! {{
        #[allow(unused_imports)]
        use #kube_core::{ListMerge, MapMerge, Message, Reason, Rule, StructMerge};
        #expr
    }}
}
