//! The names that sources define: those of tests, those of everything else, and texts. Comments do not count.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use super::files::File;

/// What pages can name.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Functions with the attribute of a test, and the modules that have them: what `cargo test` takes as a filter.
    pub(super) tests: BTreeSet<String>,
    /// Items that are no part of tests.
    items: BTreeSet<String>,
    /// Literals as a whole, such as the name of a metric.
    texts: BTreeSet<String>,
}

impl Names {
    pub(super) fn of(sources: &[File]) -> Result<Self> {
        let mut names = Self::default();
        // Programs that do not compile may lack a bracket as well.
        for file in sources.iter().filter(|file| !file.path.contains("/tests/ui/")) {
            let tokens: TokenStream = file.text.parse().map_err(|error| anyhow!("{}: {error}", file.path))?;
            let place = Place { modules: modules(&file.path), in_tests: has_tests_only(&file.path) };
            names.read(tokens, &place);
        }
        Ok(names)
    }

    /// Whether a page may name it: by its whole name, or by the beginning of one and `…`.
    pub(super) fn has(&self, name: &str) -> bool {
        has(&self.tests, name) || has(&self.items, name) || has(&self.texts, name)
    }

    pub(super) fn has_test(&self, name: &str) -> bool {
        has(&self.tests, name)
    }

    fn read(&mut self, tokens: TokenStream, place: &Place) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let (mut is_test, mut is_for_tests) = (false, false);
        let mut rest = &*tokens;
        while let [first, after @ ..] = rest {
            rest = after;
            match (first, after) {
                (TokenTree::Punct(hash), [TokenTree::Group(attribute), item @ ..])
                    if hash.as_char() == '#' && attribute.delimiter() == Delimiter::Bracket =>
                {
                    is_test |= is_test_attribute(attribute);
                    is_for_tests |= attribute.to_string().replace(' ', "").starts_with("[cfg(test");
                    rest = item;
                }
                (TokenTree::Ident(word), [TokenTree::Ident(name), TokenTree::Group(body), item @ ..])
                    if word == "mod" =>
                {
                    let modules = [&*place.modules, &[name.to_string()]].concat();
                    let inside = Place { modules, in_tests: place.in_tests || is_for_tests };
                    self.read(body.stream(), &inside);
                    (is_test, is_for_tests) = (false, false);
                    rest = item;
                }
                (TokenTree::Ident(word), [TokenTree::Ident(name), ..]) if is_item(word) => {
                    let name = name.to_string();
                    if word == "fn" && is_test {
                        self.tests.extend(place.modules.iter().cloned().chain([name]));
                    } else if !place.in_tests {
                        self.items.insert(name);
                    }
                    (is_test, is_for_tests) = (false, false);
                }
                (TokenTree::Group(group), _) => self.read(group.stream(), place),
                (TokenTree::Literal(literal), _) => {
                    self.texts.insert(literal.to_string().trim_matches('"').to_owned());
                }
                _ => {}
            }
        }
    }
}

/// Where tokens stand.
struct Place {
    modules: Vec<String>,
    in_tests: bool,
}

/// The names of a file's folders and of itself that are modules.
fn modules(path: &str) -> Vec<String> {
    let inside =
        path.rsplit_once("/src/").or_else(|| path.rsplit_once("/tests/")).map_or(path, |(_, inside)| inside);
    let parts = inside.trim_end_matches(".rs").split('/');
    parts.filter(|part| !["mod", "lib", "main", "it", "tests"].contains(part)).map(str::to_owned).collect()
}

fn has_tests_only(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// `#[test]`, `#[tokio::test(…)]` and the like.
fn is_test_attribute(attribute: &Group) -> bool {
    let path = attribute.stream().into_iter().take_while(|token| !matches!(token, TokenTree::Group(_)));
    let last =
        path.filter_map(|token| if let TokenTree::Ident(ident) = token { Some(ident) } else { None }).last();
    last.is_some_and(|last| last == "test")
}

fn is_item(word: &Ident) -> bool {
    ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "union"]
        .iter()
        .any(|item| word == item)
}

fn has(names: &BTreeSet<String>, name: &str) -> bool {
    match name.strip_suffix('…') {
        Some(start) => names.range(start.to_owned()..).next().is_some_and(|name| name.starts_with(start)),
        None => names.contains(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str, text: &str) -> Names {
        Names::of(&[File { path: path.into(), text: text.into() }]).unwrap()
    }

    #[test]
    fn a_test_is_a_function_with_the_attribute_of_one() {
        let text = "// it_is_only_in_a_comment\n#[cfg(test)] mod tests {\n\
                    fn a_helper_of_the_tests() { let a_local_of_a_test = 1; }\n\
                    #[test] fn the_sum_is_right() {}\n#[tokio::test(start_paused = true)]\n/// Why.\nasync fn it_ends_in_time() {}\n\
                    proptest! { #[test] fn every_input_is_read(a in 0..9) {} }\n}";
        let names = names("crates/a/src/queue/lanes.rs", text);
        let tests = ["every_input_is_read", "it_ends_in_time", "lanes", "queue", "tests", "the_sum_is_right"];
        assert!(names.tests.iter().eq(tests), "{names:?}");
        for no_test in ["it_is_only_in_a_comment", "a_helper_of_the_tests", "a_local_of_a_test"] {
            assert!(!names.has(no_test), "{no_test}");
        }
        assert!(names.has("it_ends_in_…") && !names.has("it_ended_in_…"));
    }

    #[test]
    fn items_and_whole_texts_can_be_named_but_are_no_tests() {
        let text =
            "pub fn update_status_with_retry() {} const A: &str = \"work_queue_depth_total\"; // \"b_c\"\n";
        let names = names("crates/a/src/lib.rs", text);
        for name in ["update_status_with_retry", "work_queue_depth_total"] {
            assert!(names.has(name) && !names.has_test(name), "{name}");
        }
        assert!(!names.has("work_queue_depth") && !names.has("b_c"));
        assert!(
            !self::names("crates/a/tests/it/main.rs", "fn start_of_a_server() {}").has("start_of_a_server")
        );
    }
}
