//! Places in the user's code: found in the syntax, changed in the text, so that its formatting stays.
//!
//! Each function returns the changed text, or `None` where the place is not what the template wrote. A line that is there already, added by
//! hand after such an error, is not added again.

use std::ops::Range;

use super::fit::in_one_line;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Expr, ExprMacro, File, Item, ItemFn, MacroDelimiter, Stmt, UseTree};

/// Adds the line `pub mod NAME;` to those that are there, in the order of their names.
pub(super) fn module(text: &str, name: &str) -> Option<String> {
    let line = format!("pub mod {name};");
    if has_line(text, &line) {
        return Some(text.to_owned());
    }
    let file = syn::parse_file(text).ok()?;
    let modules = file.items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() => Some(module),
        _ => None,
    });
    let modules: Vec<_> = modules.collect();
    // One with attributes stands apart.
    let mut plain = modules.iter().filter(|module| module.attrs.is_empty());
    let at = match plain.clone().find(|module| *module.ident.to_string() > *name) {
        Some(later) => line_start(text, range(later.span()).start)?,
        None => line_end(text, range(plain.next_back().or(modules.last())?.span()).end),
    };
    Some(insert(text, at, &format!("{line}\n")))
}

/// Adds a statement before the last expression of a function.
pub(super) fn statement(text: &str, function: &str, statement: &str) -> Option<String> {
    if has_line(text, statement) {
        return Some(text.to_owned());
    }
    let file = syn::parse_file(text).ok()?;
    let Stmt::Expr(last, None) = find(&file, function)?.block.stmts.last()? else { return None };
    let start = range(last.span()).start;
    let line = line_start(text, start)?;
    let indent = &text[line..start];
    Some(insert(text, line, &format!("{indent}{statement}\n")))
}

/// Adds an element to the only `vec![..]` of a function.
pub(super) fn element(text: &str, function: &str, element: &str) -> Option<String> {
    let file = syn::parse_file(text).ok()?;
    let mut lists = Lists::default();
    lists.visit_item_fn(find(&file, function)?);
    let [(content, inside)] = &lists.0[..] else { return None };
    if content.replace(' ', "").contains(&element.replace(' ', "")) {
        return Some(text.to_owned());
    }
    let before = text[..inside.end].trim_end();
    let (has_comma, is_empty) = (before.ends_with(','), before.ends_with(['[', '(', '{']));
    let own_line = text[before.len()..inside.end].contains('\n');
    let added = match (is_empty, has_comma, own_line) {
        (true, ..) => element.to_owned(),
        (_, true, false) => format!(" {element}"),
        (_, true, true) => {
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let indent: String = before[start..].chars().take_while(|c| c.is_whitespace()).collect();
            format!("\n{indent}{element},")
        }
        (_, false, _) => match in_lines(text, inside, element) {
            Some(lines) => return Some(replace(text, inside.clone(), &lines)),
            None => format!(", {element}"),
        },
    };
    Some(insert(text, before.len(), &added))
}

/// The elements of a list and another one in a line each, where they are in one line and that becomes too long.
fn in_lines(text: &str, inside: &Range<usize>, element: &str) -> Option<String> {
    let elements = text[inside.clone()].trim();
    // What has commas within is left to the user.
    let is_plain = !elements.replace("()", "").contains(['\n', '"', '(', '[', '{', '<']);
    if !is_plain {
        return None;
    }
    let all: Vec<_> = elements.split(',').map(str::trim).chain([element]).collect();
    if in_one_line(&all) {
        return None;
    }
    let line = text[..inside.start].rfind('\n').map_or(0, |at| at + 1);
    let indent: String = text[line..].chars().take_while(|c| c.is_whitespace()).collect();
    let lines: String = all.iter().map(|element| format!("{indent}    {element},\n")).collect();
    Some(format!("\n{lines}{indent}"))
}

/// Replaces the module in the line `pub use MODULE::{NAME, ..}`.
pub(super) fn reexport(text: &str, name: &str, from: &str, to: &str) -> Option<String> {
    let file = syn::parse_file(text).ok()?;
    let module = |item: &Item| match item {
        Item::Use(item) => match &item.tree {
            UseTree::Path(path) if names(&path.tree).iter().any(|it| it == name) => Some(path.ident.clone()),
            _ => None,
        },
        _ => None,
    };
    let module = file.items.iter().find_map(module)?;
    match module == from || module == to {
        true => Some(replace(text, range(module.span()), to)),
        false => None,
    }
}

/// Whether a file has a constant of this name.
pub(super) fn has_constant(text: &str, name: &str) -> bool {
    let is_it = |item: &Item| matches!(item, Item::Const(item) if item.ident == name);
    syn::parse_file(text).is_ok_and(|file| file.items.iter().any(is_it))
}

fn names(tree: &UseTree) -> Vec<String> {
    match tree {
        UseTree::Name(name) => vec![name.ident.to_string()],
        UseTree::Group(group) => group.items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// The content of each `vec!`, and where it is.
#[derive(Default)]
struct Lists(Vec<(String, Range<usize>)>);

impl<'ast> Visit<'ast> for Lists {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        if let Expr::Macro(ExprMacro { mac, .. }) = expr
            && mac.path.is_ident("vec")
        {
            let span = match &mac.delimiter {
                MacroDelimiter::Paren(it) => it.span,
                MacroDelimiter::Brace(it) => it.span,
                MacroDelimiter::Bracket(it) => it.span,
            };
            let inside = range(span.open()).end..range(span.close()).start;
            self.0.push((mac.tokens.to_string(), inside));
        }
        visit::visit_expr(self, expr);
    }
}

fn find<'a>(file: &'a File, function: &str) -> Option<&'a ItemFn> {
    file.items.iter().find_map(|item| match item {
        Item::Fn(item) if item.sig.ident == function => Some(item),
        _ => None,
    })
}

pub(super) fn range(span: Span) -> Range<usize> {
    span.byte_range()
}

fn has_line(text: &str, line: &str) -> bool {
    text.lines().any(|other| other.trim() == line)
}

/// Where the line begins in which `at` is the first that is not white space.
fn line_start(text: &str, at: usize) -> Option<usize> {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[start..at].chars().all(char::is_whitespace).then_some(start)
}

/// Where the next line begins.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

fn insert(text: &str, at: usize, added: &str) -> String {
    replace(text, at..at, added)
}

fn replace(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_added_in_order() {
        let text =
            "//! Ä.\n\n#[cfg(feature = \"x\")]\npub mod embedded;\n\npub mod page; // é\n\nuse a::B;\n";
        let first = module(text, "blog").unwrap();
        assert!(first.contains("\n\npub mod blog;\npub mod page; // é\n"), "{first}");
        let last = module(&first, "post").unwrap();
        assert!(last.contains("pub mod page; // é\npub mod post;\n\nuse"), "{last}");
        assert_eq!(module(&last, "post").unwrap(), last);
        assert_eq!(module("fn a() {}\n", "post"), None);
        assert_eq!(module("pub mod inline {}\n", "post"), None);
        assert_eq!(module("not Rust", "post"), None);
    }

    #[test]
    fn statements_are_added_before_the_last_expression() {
        let text =
            "fn other() {}\n\nfn manager() -> M {\n\tlet m = \"ü\";\n\t// done\n\tm\n\t\t.with(1)\n}\n";
        let added = statement(text, "manager", "m = page(m);").unwrap();
        assert!(added.contains("\t// done\n\tm = page(m);\n\tm\n\t\t.with(1)\n}"), "{added}");
        assert_eq!(statement(&added, "manager", "m = page(m);").unwrap(), added);
        for lost in
            ["fn manager() {}", "fn manager() {\n  m;\n}", "fn manager() -> M { m }", "fn run() {\n m\n}"]
        {
            assert_eq!(statement(lost, "manager", "m = page(m);"), None, "{lost}");
        }
    }

    #[test]
    fn elements_are_added_to_the_only_list() {
        let text = |list: &str| format!("fn crd() -> C {{\n    merge(vec!{list}, \"é\")\n}}\n");
        for (list, expected) in [
            ("[v1::P::crd()]", "[v1::P::crd(), v2::P::crd()]"),
            ("[]", "[v2::P::crd()]"),
            ("[\n        a,\n        b,\n    ]", "[\n        a,\n        b,\n        v2::P::crd(),\n    ]"),
            ("[v2 :: P::crd()]", "[v2 :: P::crd()]"),
            (
                "[v1alpha1::P::crd(), v1beta1::P::crd(), v1::P::crd()]",
                "[\n        v1alpha1::P::crd(),\n        v1beta1::P::crd(),\n        v1::P::crd(),\n        v2::P::crd(),\n    ]",
            ),
        ] {
            assert_eq!(element(&text(list), "crd", "v2::P::crd()").unwrap(), text(expected));
        }
        assert_eq!(element("fn crd() { f(vec![], vec![]) }", "crd", "a"), None);
        assert_eq!(element("fn crd() { f() }", "crd", "a"), None);
    }

    #[test]
    fn the_version_of_a_reexport_is_replaced() {
        let text = "use x::P;\n/// é\npub use v1::{P, PSpec};\n";
        assert_eq!(reexport(text, "PSpec", "v1", "v2").unwrap(), text.replace("v1", "v2"));
        assert_eq!(
            reexport(&text.replace("v1", "v2"), "PSpec", "v1", "v2").unwrap(),
            text.replace("v1", "v2")
        );
        assert_eq!(reexport(text, "Q", "v1", "v2"), None);
        assert_eq!(reexport("pub use v3::PSpec;", "PSpec", "v1", "v2"), None);
        assert_eq!(reexport("pub use v1::PSpec;", "PSpec", "v1", "v2").unwrap(), "pub use v2::PSpec;");
    }
}
