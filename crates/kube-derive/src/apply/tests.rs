//! How tokens are read, and a snapshot of the generated code, which every user compiles.

use proc_macro2::TokenStream;
use quote::quote;

use super::{apply, braces::Braces};

fn kind(tokens: TokenStream) -> &'static str {
    let braces = proc_macro2::Group::new(proc_macro2::Delimiter::Brace, tokens);
    match Braces::of(&braces) {
        Braces::Struct => "struct",
        Braces::Map => "map",
        Braces::Block => "block",
    }
}

#[test]
fn the_first_element_tells_what_braces_are() {
    for (expected, tokens) in [
        ("struct", quote!()),
        ("struct", quote!(name: 1)),
        ("struct", quote!(name)),
        ("struct", quote!(r#type: 1)),
        ("struct", quote!(type: 1)),
        ("struct", quote!(name, other: 1)),
        ("struct", quote!(..base)),
        ("struct", quote!(..base, name: 1)),
        ("struct", quote!(if a { name: 1 })),
        ("struct", quote!(if let A { b } = c { name: 1 } else { "x": 1 })),
        ("struct", quote!(for Point { x, y } in points { name: x })),
        ("struct", quote!(match a { A { b } => {} B if c => { name: 1 } })),
        ("struct", quote!(if a {} name: 1)),
        ("map", quote!("a": 1)),
        ("map", quote!(1: 2)),
        ("map", quote!((key): 2)),
        ("map", quote!(..base, "a": 1)),
        ("map", quote!(if a {} else if b { "a": 1 })),
        ("map", quote!(if a {} else { (a + b): 1 })),
        ("map", quote!(for (k, v) in all { (k): v })),
        ("map", quote!(match a { A { b } => {}, B => { "a": 1 } })),
        ("block", quote!("a")),
        ("block", quote!(1 + 2)),
        ("block", quote!(a + b)),
        ("block", quote!(a.b())),
        ("block", quote!(a::b)),
        ("block", quote!((a, b))),
        ("block", quote!(let a = 1; a)),
        ("block", quote!(-1)),
        ("block", quote!(if a { 1 } else { 2 })),
        (
            "block",
            quote!(match a {
                A => 1,
                _ => 2,
            }),
        ),
    ] {
        assert_eq!(kind(tokens.clone()), expected, "{{ {tokens} }}");
    }
}

#[test]
fn code_of_all_forms() {
    let code = apply(quote!(Pod {
        metadata: { name, labels: { "app": name, (key): value, ..more } },
        spec: {
            ..base,
            containers: [{ name: "a", args: ["x", ..args] }, for item in items { name: item? }],
            if let Some(node) = node { node_name: node } else { hostname: None }
            match mode { Mode::A => { priority: 1 }, _ => {} }
        },
    }))
    .unwrap();
    let file = syn::parse2(quote!(fn f() { #code }));
    insta::assert_snapshot!(prettyplease::unparse(&file.expect("generated code parses")));
}

#[test]
fn every_mistake_is_reported_and_the_rest_is_compiled() {
    let code = apply(quote!(Pod { "a": 1, b: 2, c 3, d:, e: 4 f: 5, g: [{ h: i. }] })).unwrap().to_string();
    for error in [
        "expected the name of a field, without quotes",
        "expected `:` and a value after `c`",
        "expected a value",
        "expected `,`",
    ] {
        assert!(code.contains(error), "{error} is missing in {code}");
    }
    for field in ["b", "c", "d", "e", "g", "h"] {
        assert!(code.contains(&format!("__it . {field}")), "{field} is missing in {code}");
    }
}
