//! Which files are checked, what each source file has to begin with, and how large the book may be.

use std::borrow::Cow;

use anyhow::{Context as _, Result};
use walkdir::WalkDir;

use crate::context::Context;
use crate::paths;
use crate::pattern::regex;

/// A text file of the repository.
pub(crate) struct File {
    /// From the top of the checkout.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The size of the pages of the book together, without Rust code. A newcomer reads them in an afternoon; what explains a mechanism belongs
/// to rustdoc, what explains a decision to `docs/design/`. Raise it together with a new chapter.
const BOOK_LIMIT: usize = 222_000;
/// The same for CONTRIBUTING.md, which is read before the first change.
const CONTRIBUTING_LIMIT: usize = 6_000;

/// Every Rust file of the workspaces.
pub(crate) fn sources(cx: &Context) -> Result<Vec<File>> {
    paths::SOURCE_FOLDERS
        .iter()
        .map(|folder| read(cx, folder, ".rs"))
        .collect::<Result<Vec<_>>>()
        .map(flatten)
}

/// Every page of documentation.
pub(crate) fn pages(cx: &Context) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&cx.root)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            files.push(File { text: cx.read(&name)?, path: name });
        }
    }
    for folder in [paths::BOOK_PAGES, "docs", "testserver", "crates", "fuzz"] {
        files.extend(read(cx, folder, ".md")?);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

pub(super) fn check(pages: &[File], sources: &[File]) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in sources.iter().filter(|file| has_to_explain_itself(&file.path)) {
        if !file.text.starts_with("//! ") {
            wrong.push(format!("{}: the first line does not say what the file is for (//! ...)", file.path));
        }
    }
    let book = pages
        .iter()
        .filter(|page| page.path.starts_with(paths::BOOK_PAGES))
        .map(|page| without_rust(&page.text).len())
        .sum();
    let size = |path: &str| pages.iter().find(|page| page.path == path).map_or(0, |page| page.text.len());
    let contributing = size("CONTRIBUTING.md");
    for (what, size, limit) in
        [(paths::BOOK_PAGES, book, BOOK_LIMIT), ("CONTRIBUTING.md", contributing, CONTRIBUTING_LIMIT)]
    {
        if size > limit {
            wrong.push(format!("{what}: {size} bytes, more than {limit}"));
        }
    }
    wrong
}

/// The page without its blocks of Rust code.
pub(super) fn without_rust(text: &str) -> Cow<'_, str> {
    regex(r"(?ms)^ *```rust[^\n]*$.*?^ *```$\n?").replace_all(text, "")
}

/// Tests in a file of their own are explained by the file beside them, and programs for the compiler by the test that compiles them.
fn has_to_explain_itself(path: &str) -> bool {
    let tests = path.ends_with("/tests.rs") || path.ends_with("_tests.rs");
    !tests && !path.contains("/tests/ui/") && !path.contains("/tests/doc/")
}

fn read(cx: &Context, folder: &str, ending: &str) -> Result<Vec<File>> {
    let mut files = Vec::new();
    if !cx.exists(folder) {
        return Ok(files);
    }
    // Not what builds leave behind, such as target/ of a workspace of its own.
    let walk = WalkDir::new(cx.path(folder)).into_iter().filter_entry(|entry| entry.file_name() != "target");
    for entry in walk {
        let entry = entry?;
        let path = entry.path().strip_prefix(&cx.root).context("a file outside of the checkout")?;
        let path = path.to_string_lossy().into_owned();
        if entry.file_type().is_file() && path.ends_with(ending) {
            files.push(File { text: cx.read(&path)?, path });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn flatten(files: Vec<Vec<File>>) -> Vec<File> {
    files.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_samples_is_no_prose() {
        let page = "Text.\n\n```rust,no_run\nlet x;\n```\n\n```console\n$ ls\n```\n";
        assert_eq!(without_rust(page), "Text.\n\n\n```console\n$ ls\n```\n");
    }

    #[test]
    fn files_of_tests_are_explained_by_their_neighbours() {
        assert!(has_to_explain_itself("crates/kube-core/src/watch/mod.rs"));
        assert!(!has_to_explain_itself("crates/kube-core/src/watch/tests.rs"));
        assert!(!has_to_explain_itself("crates/kube-runtime/src/sharding/machine_tests.rs"));
    }
}
