//! Tells what braces are: a struct `{ name: value }`, a map `{ "key": value }`, or a block of Rust `{ statements; value }`.

use proc_macro2::{Group, TokenStream};
use syn::{
    Expr, Ident, Lit, Pat, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser},
    token::{Brace, Paren},
};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Braces {
    Struct,
    Map,
    Block,
}

impl Braces {
    /// What these braces are, by the first element in them.
    pub(super) fn of(braces: &Group) -> Self {
        first(braces.stream()).unwrap_or(Self::Struct)
    }

    /// The same of braces after `if`, `for` and `=>` in a list. A variable alone is the item there, not a field of it.
    pub(super) fn of_items(braces: &Group) -> Self {
        let variable = |input: ParseStream<'_>| input.parse::<Ident>();
        if variable.parse2(braces.stream()).is_ok() { Self::Block } else { Self::of(braces) }
    }
}

/// `None` if there is no element.
fn first(tokens: TokenStream) -> Option<Braces> {
    let parser = |input: ParseStream<'_>| {
        let braces = element(input);
        input.parse::<TokenStream>()?;
        Ok(braces)
    };
    // What is wrong in a struct is reported by its parser.
    parser.parse2(tokens).unwrap_or(Ok(None)).unwrap_or(None)
}

/// An error if control flow cannot be read.
fn element(input: ParseStream<'_>) -> syn::Result<Option<Braces>> {
    while !input.is_empty() {
        let found = if input.peek(Token![..]) && !input.peek(Token![..=]) {
            input.parse::<Token![..]>()?;
            input.parse::<Expr>()?;
            None
        } else if input.peek(Token![if]) {
            in_if(input)?
        } else if input.peek(Token![match]) {
            in_match(input)?
        } else if input.peek(Token![for]) {
            input.parse::<Token![for]>()?;
            Pat::parse_multi_with_leading_vert(input)?;
            input.parse::<Token![in]>()?;
            Expr::parse_without_eager_brace(input)?;
            first(group(input)?.stream())
        } else {
            Some(simple(input))
        };
        if found.is_some() {
            return Ok(found);
        }
        let _ = input.parse::<Option<Token![,]>>()?;
    }
    Ok(None)
}

fn in_if(input: ParseStream<'_>) -> syn::Result<Option<Braces>> {
    let mut found = None;
    loop {
        input.parse::<Token![if]>()?;
        Expr::parse_without_eager_brace(input)?;
        found = found.or(first(group(input)?.stream()));
        if input.parse::<Option<Token![else]>>()?.is_none() {
            return Ok(found);
        }
        if !input.peek(Token![if]) {
            return Ok(found.or(first(group(input)?.stream())));
        }
    }
}

fn in_match(input: ParseStream<'_>) -> syn::Result<Option<Braces>> {
    input.parse::<Token![match]>()?;
    Expr::parse_without_eager_brace(input)?;
    let arms = |input: ParseStream<'_>| {
        let mut found = None;
        while !input.is_empty() {
            Pat::parse_multi_with_leading_vert(input)?;
            if input.parse::<Option<Token![if]>>()?.is_some() {
                input.parse::<Expr>()?;
            }
            input.parse::<Token![=>]>()?;
            if !input.peek(Brace) {
                input.parse::<TokenStream>()?;
                return Ok(Some(Braces::Block));
            }
            found = found.or(first(group(input)?.stream()));
            let _ = input.parse::<Option<Token![,]>>()?;
        }
        Ok(found)
    };
    arms.parse2(group(input)?.stream())
}

/// An element without control flow.
fn simple(input: ParseStream<'_>) -> Braces {
    let fork = input.fork();
    let is_key = fork.parse::<Lit>().is_ok() || fork.peek(Paren) && fork.parse::<Group>().is_ok();
    if !is_key && fork.call(Ident::parse_any).is_err() {
        return Braces::Block;
    }
    let is_named = fork.peek(Token![:]) && !fork.peek(Token![::]);
    match (is_key, is_named) {
        (true, true) => Braces::Map,
        (false, true) => Braces::Struct,
        (false, false) if fork.is_empty() || fork.peek(Token![,]) => Braces::Struct,
        _ => Braces::Block,
    }
}

/// Braces with what is in them.
pub(super) fn group(input: ParseStream<'_>) -> syn::Result<Group> {
    if !input.peek(Brace) {
        return Err(input.error("expected `{`"));
    }
    input.parse()
}
