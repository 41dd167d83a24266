//! What a file defines and which paths it names, from its tokens: comments, texts and tests do not count.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The names of items.
    pub(super) names: BTreeSet<String>,
    pub(super) paths: Vec<Named>,
}

/// A path of `use`, or one inside of code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The module that names it: that of the file, or one inside of the file.
    pub(super) module: Vec<String>,
    /// As it is written; `*` for all names.
    pub(super) path: Vec<String>,
    /// The name that `use` gives it here.
    pub(super) alias: Option<String>,
    /// Whether `use` names it.
    pub(super) is_import: bool,
}

/// Reads the file of a module.
pub(super) fn scan(module: &[String], text: &str) -> Result<Scan> {
    let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{}: {error}", module.join("::")))?;
    let mut scanner = Scanner { module: module.to_vec(), scan: Scan::default() };
    scanner.tokens(tokens);
    Ok(scanner.scan)
}

struct Scanner {
    module: Vec<String>,
    scan: Scan,
}

impl Scanner {
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut rest = &*tokens;
        while let [first, after @ ..] = rest {
            rest = match (ident(first).as_deref(), after) {
                (None, [TokenTree::Group(attribute), item @ ..])
                    if is_punct(first, '#') && is_test(attribute) =>
                {
                    end_of_item(item)
                }
                (Some("use"), [next, ..]) if !is_punct(next, '<') => {
                    let end = after.iter().position(|token| is_punct(token, ';')).unwrap_or(after.len());
                    self.tree(&[], &after[..end]);
                    &after[end..]
                }
                (Some("mod"), [name, TokenTree::Group(body), after @ ..]) => {
                    self.module.extend(ident(name));
                    self.tokens(body.stream());
                    self.module.pop();
                    after
                }
                (Some("macro_rules"), [_, name, ..]) => {
                    self.scan.names.extend(ident(name));
                    after
                }
                (
                    Some("struct" | "enum" | "union" | "trait" | "fn" | "type" | "const" | "static"),
                    [name, ..],
                ) => {
                    self.scan.names.extend(ident(name));
                    after
                }
                // `pub(in crate::a)` imports nothing.
                (Some("pub"), [TokenTree::Group(_), after @ ..]) => after,
                (Some(_), _) => self.path(rest),
                (None, _) => {
                    if let TokenTree::Group(group) = first {
                        self.tokens(group.stream());
                    }
                    after
                }
            };
        }
    }

    /// The paths of a tree of `use`, below a prefix.
    fn tree(&mut self, prefix: &[String], tokens: &[TokenTree]) {
        let mut path = prefix.to_vec();
        let mut alias = None;
        let mut rest = tokens;
        while let [first, after @ ..] = rest {
            rest = after;
            match (first, after) {
                (TokenTree::Group(group), _) => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    inner.split(|token| is_punct(token, ',')).for_each(|tree| self.tree(&path, tree));
                    return;
                }
                (TokenTree::Ident(word), [name, ..]) if word == "as" => {
                    alias = ident(name);
                    break;
                }
                (TokenTree::Ident(name), _) => path.push(name.to_string()),
                (TokenTree::Punct(star), _) if star.as_char() == '*' => path.push("*".into()),
                _ => {}
            }
        }
        // `use a::{self, b}` names `a`.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if !tokens.is_empty() {
            self.named(path, alias, true);
        }
    }

    /// The path at the beginning of the tokens, if it is one; what follows it.
    fn path<'t>(&mut self, tokens: &'t [TokenTree]) -> &'t [TokenTree] {
        let Some((first, mut rest)) = tokens.split_first() else { return tokens };
        let mut path: Vec<_> = ident(first).into_iter().collect();
        while let [one, two, name, after @ ..] = rest {
            let Some(name) = ident(name).filter(|_| is_punct(one, ':') && is_punct(two, ':')) else { break };
            path.push(name);
            rest = after;
        }
        if path.len() > 1 {
            self.named(path, None, false);
        }
        rest
    }

    fn named(&mut self, path: Vec<String>, alias: Option<String>, is_import: bool) {
        self.scan.paths.push(Named { module: self.module.clone(), path, alias, is_import });
    }
}

/// Whether an attribute is `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn is_test(attribute: &Group) -> bool {
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    attribute.delimiter() == Delimiter::Bracket && (text == "cfg(test)" || text.starts_with("cfg(all(test,"))
}

/// What follows the item, the field or the statement at the beginning of the tokens.
fn end_of_item(tokens: &[TokenTree]) -> &[TokenTree] {
    let is_named =
        |name: &str| tokens.iter().take(4).any(|token| ident(token).is_some_and(|word| word == name));
    let has_body = !["use", "const", "static", "let"].into_iter().any(is_named) || is_named("fn");
    let is_field = !["fn", "mod", "impl", "struct", "enum", "trait", "type"].into_iter().any(is_named);
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => has_body && group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';' || (is_field && has_body && punct.as_char() == ','),
        _ => false,
    };
    let end = tokens.iter().position(ends).map_or(tokens.len(), |end| end + 1);
    &tokens[end..]
}

fn ident(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let named = scan(&["a".into()], text).unwrap().paths.into_iter();
        let alias =
            |named: &Named| named.alias.as_ref().map(|alias| format!(" as {alias}")).unwrap_or_default();
        named.map(|named| named.path.join("::") + &alias(&named)).collect()
    }

    #[test]
    fn trees_of_use_are_unfolded() {
        let text = "pub(in crate::x) use crate::{self, b::{self, C as D}, e::*,};\nuse super::f;";
        assert_eq!(paths(text), ["crate", "crate::b", "crate::b::C as D", "crate::e::*", "super::f"]);
    }

    #[test]
    fn paths_in_code_count_and_those_of_tests_do_not() {
        let text = "#[cfg(test)] use crate::a;\n#[cfg(all(test, unix))] fn f<A, B>() { crate::b() }\n\
                    struct S { #[cfg(test)] x: crate::c::C, y: crate::d::D }\n\
                    #[cfg(not(test))] fn g() { vec![super::e(\"crate::h\")]; } // crate::i::I\n";
        assert_eq!(paths(text), ["crate::d::D", "super::e"]);
    }

    #[test]
    fn names_are_those_of_items() {
        let names =
            scan(&[], "macro_rules! m { () => {} } pub struct A; impl A { const B: u8 = 1; }").unwrap().names;
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["A", "B", "m"]);
    }
}
