//! The pages that lead a reader through the code name files, which exist.

use super::files::{File, without_rust};
use crate::paths;
use crate::pattern::regex;

/// A walk with fewer files shows nothing.
const FILES: usize = 5;

pub(super) fn check(pages: &[File], sources: &[File]) -> Vec<String> {
    let walk = |path: &&str| match pages.iter().find(|page| page.path == **path) {
        Some(page) => check_page(page, sources),
        None => vec![format!("{path} does not exist")],
    };
    paths::WALKS.iter().flat_map(walk).collect()
}

/// Diagrams name files as well; samples of code are no part of the way.
fn check_page(page: &File, sources: &[File]) -> Vec<String> {
    let file = regex(r"[\w./-]+\.rs\b");
    let prose = without_rust(&page.text);
    let lines = prose.lines().filter(|line| !line.starts_with("<!--"));
    let named: Vec<_> = lines.flat_map(|line| file.find_iter(line).map(|name| name.as_str())).collect();
    let exists = |name: &str| {
        sources.iter().any(|source| {
            source.path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })
    };
    let missing = named.iter().filter(|name| !exists(name));
    let mut wrong: Vec<_> = missing.map(|name| format!("{}: {name} does not exist", page.path)).collect();
    if named.len() < FILES {
        wrong.push(format!("{}: names {} files of the code, fewer than {FILES}", page.path, named.len()));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_names_files_that_exist() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let sources = [file("crates/a/src/queue.rs", "")];
        let page = |text: &str| check_page(&file("walk.md", text), &sources);
        let queue = "1. `crates/a/src/queue.rs`, then `src/queue.rs`\n";
        assert_eq!(page(&queue.repeat(3)), [""; 0]);
        let sample = "<!-- sample: examples/x.rs:all -->\n```rust\n// y.rs\n```\n";
        let moved = queue.repeat(3) + "```text\nmachine.rs and a/queue.rs\n```\n" + sample;
        assert_eq!(
            page(&moved),
            ["walk.md: machine.rs does not exist", "walk.md: a/queue.rs does not exist"]
        );
        assert_eq!(page(queue), ["walk.md: names 2 files of the code, fewer than 5"]);
    }
}
