//! Parses serde's and schemars' attributes of fields.

use syn::{
    Attribute, Expr, ExprLit, Field, GenericArgument, Lit, LitStr, Meta, PathArguments, Token, Type,
    ext::IdentExt, punctuated::Punctuated,
};

/// The entries of `#[serde(..)]` or `#[schemars(..)]`.
pub(crate) fn entries(attr: &Attribute) -> Option<Punctuated<Meta, Token![,]>> {
    let helper = attr.path().is_ident("serde") || attr.path().is_ident("schemars");
    helper.then(|| attr.parse_args_with(Punctuated::parse_terminated).ok()).flatten()
}

/// Whether one of them is this flag.
pub(crate) fn has_flag(attrs: &[Attribute], flag: &str) -> bool {
    let is_flag = |entry: &Meta| matches!(entry, Meta::Path(path) if path.is_ident(flag));
    attrs.iter().filter_map(entries).flatten().any(|entry| is_flag(&entry))
}

/// The text of `key = ".."`, and those of `key(.. = "..")`.
pub(crate) fn texts(attrs: &[Attribute], key: &str) -> Vec<String> {
    let of_entry = |entry: Meta| match entry {
        Meta::NameValue(pair) if pair.path.is_ident(key) => text(&pair.value).into_iter().collect(),
        Meta::List(list) if list.path.is_ident(key) => list
            .parse_args_with(Punctuated::<syn::MetaNameValue, Token![,]>::parse_terminated)
            .map(|pairs| pairs.iter().filter_map(|pair| text(&pair.value)).collect())
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    attrs.iter().filter_map(entries).flatten().flat_map(of_entry).collect()
}

/// The doc comment, a line for each of its lines; without one `None`.
pub(crate) fn doc_comment(attrs: &[Attribute]) -> Option<String> {
    let docs = attrs.iter().filter(|attr| attr.path().is_ident("doc"));
    let lines = docs.filter_map(|attr| text(&attr.meta.require_name_value().ok()?.value));
    let lines: Vec<_> =
        lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    let text = lines.join("\n");
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// `T` of a flattened field of type `Option<T>`.
pub(crate) fn flattened_option(field: &Field) -> Option<&Type> {
    let Type::Path(path) = &field.ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident.unraw() == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let of_option = arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(of_option) => Some(of_option),
        _ => None,
    });
    of_option.filter(|_| has_flag(&field.attrs, "flatten"))
}

/// The limits of `length(min = .., max = .., equal = ..)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Length {
    pub(crate) min: Option<Expr>,
    pub(crate) max: Option<Expr>,
}

/// The `length(..)` of `#[schemars(..)]` or `#[validate(..)]`.
pub(crate) fn length(attrs: &[Attribute]) -> Length {
    let lists = |attr: &Attribute| {
        let helper = attr.path().is_ident("schemars") || attr.path().is_ident("validate");
        let entries = attr.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        helper.then_some(entries.ok()).flatten().into_iter().flatten()
    };
    let mut length = Length::default();
    for list in attrs.iter().flat_map(lists) {
        let Meta::List(list) = list else { continue };
        let pairs = list.parse_args_with(Punctuated::<syn::MetaNameValue, Token![,]>::parse_terminated);
        for pair in pairs.into_iter().flatten().filter(|_| list.path.is_ident("length")) {
            if pair.path.is_ident("min") || pair.path.is_ident("equal") {
                length.min = Some(pair.value.clone());
            }
            if pair.path.is_ident("max") || pair.path.is_ident("equal") {
                length.max = Some(pair.value);
            }
        }
    }
    length
}

/// The value of a string literal.
pub(super) fn text(expr: &Expr) -> Option<String> {
    literal(expr).map(LitStr::value)
}

/// A string literal.
pub(super) fn literal(expr: &Expr) -> Option<&LitStr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}
