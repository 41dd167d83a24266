//! The accepted forms of values, and which errors are reported together.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Meta, parse_quote};

use super::{
    Attributes, KeyValue, PrintColumn,
    value::{flag, number, string, type_path},
};

fn attributes(tokens: TokenStream) -> Attributes {
    Attributes::of(&[parse_quote!(#[kube(#tokens)])], "kube", proc_macro2::Span::call_site())
}

/// What `read` makes of `x`, `x = ..` or `x(..)`.
fn read<T>(tokens: TokenStream, read: impl Fn(&Meta) -> syn::Result<T>) -> Result<T, String> {
    let mut attributes = attributes(tokens);
    let value = attributes.one("x", read);
    attributes.finish().map_err(|error| error.to_string())?;
    Ok(value.expect("there is an entry or an error"))
}

fn messages(attributes: Attributes) -> Vec<String> {
    let errors = attributes.finish().expect_err("there are errors");
    errors.into_iter().map(|error| error.to_string()).collect()
}

/// A value that a `macro_rules!` passes on.
fn grouped(tokens: TokenStream) -> TokenTree {
    Group::new(Delimiter::None, tokens).into()
}

#[test]
fn flags() {
    for tokens in [quote!(x), quote!(x = true), quote!(x = "true")] {
        assert_eq!(read(tokens, flag), Ok(true));
    }
    let passed = grouped(quote!(false));
    for tokens in [quote!(x = false), quote!(x = "false"), quote!(x = #passed)] {
        assert_eq!(read(tokens, flag), Ok(false));
    }
    for tokens in [quote!(x = "yes"), quote!(x = 1), quote!(x(true)), quote!(x = yes)] {
        assert_eq!(read(tokens, flag), Err("expected `x`, `x = true` or `x = false`".into()));
    }
}

#[test]
fn strings() {
    let passed = grouped(quote!("a"));
    for tokens in [quote!(x = "a"), quote!(x = r#"a"#), quote!(x = #passed), quote!(x = "a",)] {
        assert_eq!(read(tokens, string), Ok("a".into()));
    }
    for tokens in [quote!(x), quote!(x = a), quote!(x = 1), quote!(x = 'a'), quote!(x("a"))] {
        assert_eq!(read(tokens, string), Err(r#"expected `x = "text"`"#.into()));
    }
}

#[test]
fn numbers() {
    for (tokens, expected) in [
        (quote!(x = 1), 1),
        (quote!(x = "1"), 1),
        (quote!(x = -1), -1),
        (quote!(x = "-1"), -1),
        (quote!(x = 1i32,), 1),
        (quote!(x = -2147483648,), i32::MIN),
    ] {
        assert_eq!(read(tokens, number), Ok(expected));
    }
    for tokens in [quote!(x), quote!(x = 2147483648), quote!(x = "a"), quote!(x = 1.5), quote!(x = 1 + 1)] {
        assert_eq!(read(tokens, number), Err("expected `x = 1`, a 32-bit integer".into()));
    }
}

#[test]
fn paths() {
    let passed = grouped(quote!(a::B));
    for tokens in [quote!(x = a::B), quote!(x = "a::B"), quote!(x = #passed)] {
        let path = read(tokens, type_path).map(|path| path.to_token_stream().to_string());
        assert_eq!(path, Ok("a :: B".into()));
    }
    assert!(read(quote!(x = "B<u8>"), type_path).is_ok());
    assert!(read(quote!(x = B::<u8>), type_path).is_ok());
    for tokens in [quote!(x), quote!(x = 1), quote!(x = "a b"), quote!(x = <A as B>::C), quote!(x(a))] {
        let path = read(tokens, type_path).map(|path| path.to_token_stream().to_string());
        assert_eq!(path, Err("expected the path of a type".into()));
    }
}

#[test]
fn lists_have_any_delimiter() {
    for tokens in [quote!(x("a", "b")), quote!(x["a", "b",]), quote!(x { "a", "b" })] {
        let pair = read(tokens, KeyValue::read).expect("two strings");
        assert_eq!((pair.key.as_str(), pair.value.as_str()), ("a", "b"));
    }
    let column = quote!(x[name = "a", type_ = "date", json_path = ".a", priority = -1]);
    assert_eq!(read(column, PrintColumn::read).expect("a column").priority, Some(-1));
}

#[test]
fn several_attributes_are_combined() {
    let attrs =
        [parse_quote!(#[kube]), parse_quote!(#[kube(x = "a")]), parse_quote!(#[kube(x = "b", x = "c")])];
    let mut attributes = Attributes::of(&attrs, "kube", proc_macro2::Span::call_site());
    assert_eq!(attributes.many("x", string), ["a", "b", "c"]);
    assert!(attributes.finish().is_ok());
}

#[test]
fn errors_are_in_the_order_of_the_source_and_missing_names_last() {
    let mut attributes = attributes(quote!(a = 1, b = "b", type = "t", c = ?, b = "b", d));
    attributes.required("z", string);
    attributes.one("d", string);
    attributes.one("c", string);
    attributes.one("b", string);
    attributes.one("a", string);
    assert_eq!(
        messages(attributes),
        [
            r#"expected `a = "text"`"#,
            "Unknown field: `type`. Available values: `a`, `b`, `c`, `d`, `z`",
            "the value of `c` is not an expression: expected an expression",
            "Duplicate field `b`",
            r#"expected `d = "text"`"#,
            "Missing field `z`",
        ]
    );
}

/// The names after a syntax error may be those that would be missing.
#[test]
fn nothing_is_missing_after_a_syntax_error() {
    let mut attributes = attributes(quote!(a = 1 b = "b", c = "c"));
    attributes.required("a", string);
    attributes.required("b", string);
    assert_eq!(messages(attributes), [r#"expected `a = "text"`"#, "expected `,`"]);

    let unfinished = super::custom_resource(&parse_quote! {
        #[kube(kind = "A", scale(spec_replicas_path = ".spec.a", status_replicas_path = ".status.a") group = "g")]
        #[kube = "B"]
        struct A;
    });
    let messages: Vec<_> = unfinished.err().into_iter().flatten().map(|error| error.to_string()).collect();
    assert_eq!(messages, ["expected `,`", "expected `#[kube(..)]`"]);
}
