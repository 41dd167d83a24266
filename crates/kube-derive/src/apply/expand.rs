//! Writes the code of an `apply!`: statements in the order of the source, without closures, so that `?`, `.await`, `return` and `continue`
//! work in values.
//!
//! Names of variables are hygienic. The access of a field comes before anything else that has the position of its name, because editors
//! complete and explain the first.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Ident, ext::IdentExt, spanned::Spanned};

use super::literal::{Arm, Entry, Field, Item, Literal, Part, Value};

/// The expression.
pub(super) fn expand(literal: &Literal) -> TokenStream {
    let Literal { kube_core, of, fields } = literal;
    let names = &Names::new(quote!(#kube_core::apply::fields));
    let Names { library, writer, it, root, .. } = names;
    let fields = statements(fields, 1, names);
    quote! {{
        #[allow(unused_imports)]
        use #library::{NoKind as _, Plain as _};
        let mut #writer = #library::Writer::new();
        let mut #root = #library::Root::<#of>::new();
        {
            let #it = #root.open(&mut #writer);
            #fields
        }
        let #it = #root.kind();
        #root.finish(#writer, #it)
    }}
}

/// The names in the expansion. No name of the program is among them, nor visible to it.
struct Names {
    /// The path of what the code calls.
    library: TokenStream,
    writer: Ident,
    root: Ident,
    /// The struct, list or map that is written now.
    it: Ident,
}

impl Names {
    fn new(library: TokenStream) -> Self {
        let name = |name: &str| Ident::new(name, Span::mixed_site());
        Self { library, writer: name("__writer"), root: name("__root"), it: name("__it") }
    }
}

/// What is written to a value that is `depth` values deep.
trait Statement: Sized {
    fn element(&self, depth: usize, names: &Names) -> TokenStream;
    fn all(values: &syn::Expr, names: &Names) -> TokenStream;
}

fn statements<E: Statement>(parts: &[Part<E>], depth: usize, names: &Names) -> TokenStream {
    parts.iter().map(|part| statement(part, depth, names)).collect()
}

fn statement<E: Statement>(part: &Part<E>, depth: usize, names: &Names) -> TokenStream {
    let Names { writer, .. } = names;
    match part {
        Part::Element(element) => element.element(depth, names),
        Part::All(values) => E::all(values, names),
        Part::Several(parts) => statements(parts, depth, names),
        Part::If { condition, then, otherwise } => {
            let then = statements(then, depth, names);
            let otherwise = (!otherwise.is_empty()).then(|| statements(otherwise, depth, names));
            let otherwise = otherwise.map(|otherwise| quote!(else { #otherwise }));
            quote!(if #condition { #then } #otherwise)
        }
        Part::Match { value, arms } => {
            let arms = arms.iter().map(|Arm { pattern, guard, body }| {
                let guard = guard.as_ref().map(|guard| quote!(if #guard));
                let body = statements(body, depth, names);
                quote!(#pattern #guard => { #body })
            });
            quote!(match #value { #(#arms)* })
        }
        Part::For { pattern, values, body } => {
            let body = statements(body, depth, names);
            // A value may have `continue` or `break`, which leave what is open in the loop.
            quote! {
                for #pattern in #values { #writer.at(#depth); #body }
                #writer.at(#depth);
            }
        }
        Part::Wrong(error) => {
            let error = error.to_compile_error();
            quote!(#error;)
        }
    }
}

impl Statement for Field {
    fn element(&self, depth: usize, names: &Names) -> TokenStream {
        let Self { name, value } = self;
        let Names { library, it, .. } = names;
        let text = name.unraw().to_string();
        match value {
            Value::Absent => quote!(let _ = &#it.#name;),
            Value::Wrong(error) => {
                let error = error.to_compile_error();
                quote!(let _ = &mut #it.#name; #error;)
            }
            value => write(&quote!(#library::Slot(&mut #it.#name)), &text, value, depth, names),
        }
    }

    fn all(values: &syn::Expr, Names { writer, it, .. }: &Names) -> TokenStream {
        quote_spanned!(values.span()=> #writer.base(#it, #values);)
    }
}

impl Statement for Entry {
    fn element(&self, depth: usize, names: &Names) -> TokenStream {
        let Self { key, value } = self;
        let Names { library, writer, it, .. } = names;
        match value {
            Value::Absent => quote!(let _ = #key;),
            Value::Wrong(error) => error.to_compile_error(),
            Value::Expr(value) => {
                let insert = quote_spanned!(value.span()=> insert(#it, #key, #value));
                quote!(#writer.#insert;)
            }
            Value::Struct(_, span) | Value::Map(_, span) | Value::List(_, span) => {
                let value_of_key = quote_spanned!(*span=> value(#it, #key));
                write(&quote!(#library::Slot(#writer.#value_of_key)), "", value, depth, names)
            }
        }
    }

    fn all(values: &syn::Expr, Names { writer, it, .. }: &Names) -> TokenStream {
        let insert = quote_spanned!(values.span()=> insert_all(#it, #values));
        quote!(#writer.#insert;)
    }
}

impl Statement for Item {
    fn element(&self, depth: usize, names: &Names) -> TokenStream {
        let Self(value) = self;
        let Names { library, writer, it, .. } = names;
        match value {
            Value::Absent => TokenStream::new(),
            Value::Wrong(error) => error.to_compile_error(),
            Value::Expr(value) => {
                let push = quote_spanned!(value.span()=> push(#it, #value));
                quote!(#writer.#push;)
            }
            Value::Struct(fields, span) => {
                let fields = statements(fields, depth + 1, names);
                let open = quote_spanned!(*span=> open_item(#it));
                quote!({ let #it = #writer.#open; #fields #writer.close(#it); })
            }
            Value::Map(_, span) | Value::List(_, span) => {
                let item = quote_spanned!(*span=> item(#it));
                write(&quote!(#library::Slot(#writer.#item)), "", value, depth, names)
            }
        }
    }

    fn all(values: &syn::Expr, Names { writer, it, .. }: &Names) -> TokenStream {
        let push = quote_spanned!(values.span()=> push_all(#it, #values));
        quote!(#writer.#push;)
    }
}

/// Writes a value to a slot. `name` is that of the field, if it is one.
fn write(slot: &TokenStream, name: &str, value: &Value, depth: usize, names: &Names) -> TokenStream {
    let Names { writer, it, .. } = names;
    let open = |method: &str, span: Span| {
        let method = format_ident!("{method}", span = span);
        quote_spanned!(span=> #method(&mut #writer, #name))
    };
    match value {
        Value::Expr(value) => {
            let put = quote_spanned!(value.span()=> put(&mut #writer, #name, #value));
            quote!(#slot.#put;)
        }
        Value::Struct(fields, span) => {
            let open = open("open", *span);
            let fields = statements(fields, depth + 1, names);
            quote!({ let #it = #slot.#open; #fields #writer.close(#it); })
        }
        Value::Map(entries, span) => {
            let open = open("map", *span);
            let entries = statements(entries, depth + 1, names);
            quote!({ let #it = #slot.#open; #entries #writer.close_collection(); })
        }
        Value::List(items, span) => {
            let open = open("list", *span);
            let items = statements(items, depth + 1, names);
            quote!({ let #it = #slot.#open; #items #writer.close_collection(); })
        }
        Value::Absent | Value::Wrong(_) => TokenStream::new(),
    }
}
