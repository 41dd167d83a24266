//! Values of attributes: each function reads one form, and its error says what is expected.

use std::str::FromStr;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Error, Expr, ExprLit, Lit, LitInt, LitStr, Meta, Path, Result, Token, punctuated::Punctuated,
    spanned::Spanned,
};

use super::fields::literal;

/// An error at the value of `name = value`, or at the name if there is no such value.
pub(super) fn invalid(item: &Meta, message: impl std::fmt::Display) -> Error {
    Error::new(value_span(item), message)
}

/// Where [`invalid`] reports an error.
pub(super) fn value_span(item: &Meta) -> Span {
    value(item).map_or_else(|| item.span(), Spanned::span)
}

/// The value of `name = value`.
fn value(item: &Meta) -> Option<&Expr> {
    match item {
        Meta::NameValue(pair) => Some(ungrouped(&pair.value)),
        Meta::Path(_) | Meta::List(_) => None,
    }
}

/// Values passed through a `macro_rules!` are in invisible groups.
fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        _ => expr,
    }
}

/// The name of an attribute.
fn name(item: &Meta) -> String {
    item.path().to_token_stream().to_string()
}

/// `name = "text"`.
pub(super) fn string(item: &Meta) -> Result<String> {
    let text = value(item).and_then(literal).map(LitStr::value);
    text.ok_or_else(|| invalid(item, format!(r#"expected `{} = "text"`"#, name(item))))
}

/// `name = 1`, with or without quotes.
pub(super) fn number(item: &Meta) -> Result<i32> {
    let number = value(item).and_then(|expr| match literal(expr) {
        Some(text) => i32::from_str(&text.value()).ok(),
        None => syn::parse2::<LitInt>(expr.to_token_stream()).ok()?.base10_parse().ok(),
    });
    number.ok_or_else(|| invalid(item, format!("expected `{} = 1`, a 32-bit integer", name(item))))
}

/// `name`, `name = true` or `name = false`, with or without quotes.
pub(super) fn flag(item: &Meta) -> Result<bool> {
    let flag = match (item, value(item)) {
        (Meta::Path(_), _) => Some(true),
        (_, Some(Expr::Lit(ExprLit { lit: Lit::Bool(flag), .. }))) => Some(flag.value),
        (_, expr) => expr.and_then(literal).and_then(|text| text.value().parse().ok()),
    };
    flag.ok_or_else(|| {
        let name = name(item);
        invalid(item, format!("expected `{name}`, `{name} = true` or `{name} = false`"))
    })
}

/// The path of a type, with or without quotes.
pub(super) fn type_path(item: &Meta) -> Result<Path> {
    path(item, "the path of a type")
}

/// The path of a function, with or without quotes.
pub(super) fn function_path(item: &Meta) -> Result<Path> {
    path(item, "the path of a function")
}

/// The path of a crate, with or without quotes.
pub(super) fn crate_path(item: &Meta) -> Result<Path> {
    path(item, "the path of a crate")
}

fn path(item: &Meta, expected: &str) -> Result<Path> {
    let path = value(item).and_then(|expr| match expr {
        // A type with arguments (`Foo<Bar>`) is no expression and needs quotes.
        Expr::Path(path) if path.qself.is_none() => Some(path.path.clone()),
        _ => literal(expr)?.parse().ok(),
    });
    path.ok_or_else(|| invalid(item, format!("expected {expected}")))
}

/// `key("a", "b")`.
pub(crate) struct KeyValue {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl KeyValue {
    pub(super) fn read(item: &Meta) -> Result<Self> {
        let texts = match item {
            Meta::List(list) => list.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated).ok(),
            Meta::Path(_) | Meta::NameValue(_) => None,
        };
        let texts: Vec<String> = texts.iter().flatten().map(LitStr::value).collect();
        let pair = <[String; 2]>::try_from(texts).ok();
        pair.map(|[key, value]| Self { key, value })
            .ok_or_else(|| Error::new(item.span(), r#"expected two strings: ("key", "value")"#))
    }
}

/// A CEL rule: a string, `("rule", "message")` or an expression of type `Rule`.
pub(crate) struct Validation(Expr);

impl Validation {
    pub(super) fn read(item: &Meta) -> Result<Self> {
        value(item).filter(|expr| is_text_or_code(expr)).cloned().map(Self).ok_or_else(|| {
            invalid(
                item,
                r#"expected `validation = "rule"`, `validation = ("rule", "message")` or `validation = Rule::new(..)`"#,
            )
        })
    }
}

fn is_text_or_code(expr: &Expr) -> bool {
    !matches!(expr, Expr::Lit(_)) || literal(expr).is_some()
}

/// An expression of a type that is `Into<Rule>`.
impl ToTokens for Validation {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

/// Any expression except a literal: how server-side apply merges a field.
pub(super) fn merge_strategy(item: &Meta) -> Result<Expr> {
    value(item).filter(|expr| !matches!(expr, Expr::Lit(_))).cloned().ok_or_else(|| {
        invalid(
            item,
            "expected ListMerge::{Atomic, Set, Map(keys)}, MapMerge::{Atomic, Granular} or StructMerge::{Atomic, Granular}",
        )
    })
}

/// Brings the names that expressions in attributes may use into scope.
pub(crate) fn in_scope(kube_core: &Path, expr: &impl ToTokens) -> TokenStream {
    quote! {{
        #[allow(unused_imports)]
        use #kube_core::{ListMerge, MapMerge, Message, Reason, Rule, StructMerge};
        #expr
    }}
}
