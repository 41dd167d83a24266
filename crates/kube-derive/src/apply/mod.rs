//! `apply!`: some fields of a struct, as an apply configuration.
//!
//! - `literal`: what is written, as a tree; `parse` makes it from tokens, `braces` tells the braces of structs, maps and blocks apart.
//! - `expand`: code that writes the tree with `kube_core::apply::fields`.
//!
//! Nothing here knows a type: the compiler checks names and types of the fields in the expansion.

mod braces;
mod expand;
mod literal;
mod parse;
#[cfg(test)]
mod tests;

use proc_macro2::TokenStream;

/// The expansion of `apply!(input)`.
pub(crate) fn apply(input: TokenStream) -> syn::Result<TokenStream> {
    syn::parse2(input).map(|literal| expand::expand(&literal))
}
