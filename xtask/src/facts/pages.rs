//! What pages name exists: links and their headings, paths, end-to-end scenarios, items, and tests as such.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use regex::Regex;

use super::files::File;
use super::names::Names;
use crate::context::Context;
use crate::pattern::regex;

/// Paths in prose that begin like this have to exist, with or without an extension.
const ROOTS: [&str; 12] = [
    "crates/",
    "docs/",
    ".ci/",
    "e2e/",
    "testserver/",
    "fuzz/",
    "bench/",
    "examples/",
    "src/",
    "tests/",
    "book/",
    "xtask/",
];
/// Names of files that are meant in general.
const GENERAL: [&str; 7] = ["docs.rs", "kube.rs", "rustup.rs", "mod.rs", "lib.rs", "main.rs", "tests.rs"];
/// Metrics of a client that have no constant.
const METRICS: &str = "rest_client_";
/// Headings of columns that name tests.
const TESTS: [&str; 2] = ["test", "shown by"];

struct Patterns {
    fence: Regex,
    link: Regex,
    heading: Regex,
    foreign: Regex,
    path: Regex,
    scenario: Regex,
    item: Regex,
}

pub(super) fn check(cx: &Context, pages: &[File], sources: &[File]) -> Result<Vec<String>> {
    let patterns = Patterns {
        // Diagrams have paths in them, which are checked.
        fence: regex(r"(?ms)^ *```[^\n]*$.*?^ *```$"),
        link: regex(r"(?m)\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)"),
        heading: regex(r"(?m)^#+ (.*)$"),
        foreign: regex(r"docs\.rs/(kube|kube-\w+)/|kube\.rs\b"),
        path: regex(r"[\w.…*-]*(?:/[\w.…*-]+)+/?|[\w-]+\.rs\b"),
        scenario: regex(r"`e2e ([a-z0-9_]+)`"),
        item: regex(r"`([a-z0-9]+(?:_[a-z0-9]+){3,}_?…?)`"),
    };
    let known =
        Known { names: Names::of(sources)?, dependencies: cx.read("Cargo.toml")?, bases: bases(cx), sources };
    Ok(pages.iter().flat_map(|page| check_page(cx, &patterns, page, &known)).collect())
}

/// Folders that a path in prose may start from.
fn bases(cx: &Context) -> Vec<PathBuf> {
    let mut bases = vec![cx.root.clone()];
    for folder in ["crates", "testserver", "examples"] {
        for entry in std::fs::read_dir(cx.path(folder)).into_iter().flatten().flatten() {
            bases.push(entry.path());
            bases.push(entry.path().join("src"));
        }
    }
    bases
}

fn check_page(cx: &Context, patterns: &Patterns, page: &File, known: &Known<'_>) -> Vec<String> {
    let plain = without_code(&patterns.fence, &page.text);
    let mut wrong = Vec::new();
    for found in patterns.link.captures_iter(&plain) {
        let target = found.get(1).or(found.get(2)).map_or("", |target| target.as_str());
        wrong.extend(check_link(cx, patterns, page, target));
    }
    let folder = cx.path(&page.path).parent().map(Path::to_owned).unwrap_or_default();
    for found in patterns.path.find_iter(&plain) {
        if is_path_of_the_repository(&plain, found.start(), found.end())
            && !known.has_path(found.as_str(), &folder)
        {
            wrong.push(format!("{} does not exist", found.as_str()));
        }
    }
    for found in patterns.scenario.captures_iter(&plain) {
        let file = format!("e2e/tests/e2e/{}.rs", &found[1]);
        if !cx.exists(&file) {
            wrong.push(format!("{file} does not exist"));
        }
    }
    let unknown = patterns.item.captures_iter(&plain).filter(|name| !known.has_item(&name[1]));
    wrong.extend(unknown.map(|name| format!("no item or test is named {}", &name[1])));
    wrong.extend(no_tests(&plain, &known.names).into_iter().map(|name| format!("no test is named {name}")));
    wrong.into_iter().map(|what| format!("{}: {what}", page.path)).collect()
}

/// The names in columns of tests that are not those of tests or of their modules. A single word may be part of a sentence.
fn no_tests<'a>(page: &'a str, names: &Names) -> Vec<&'a str> {
    let name = regex(r"`([a-z0-9]+(?:_[a-z0-9]+)+_?…?)`");
    let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim);
    let mut column = None;
    let mut unknown = Vec::new();
    for line in page.lines() {
        if !line.starts_with('|') {
            column = None;
            continue;
        }
        let of = *column.get_or_insert_with(|| cells(line).position(|cell| TESTS.contains(&cell)));
        let cell = of.and_then(|of| cells(line).nth(of)).unwrap_or_default();
        let named = name.captures_iter(cell).filter_map(|found| Some(found.get(1)?.as_str()));
        unknown.extend(named.filter(|name| !names.has_test(name)));
    }
    unknown
}

fn check_link(cx: &Context, patterns: &Patterns, page: &File, target: &str) -> Option<String> {
    if target.starts_with("http:") || target.starts_with("https:") {
        let foreign = patterns.foreign.is_match(target);
        return foreign.then(|| format!("links to another implementation's documentation: {target}"));
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { page.path.clone() } else { normalize(&page.path, path) };
    if !cx.exists(&path) {
        return Some(format!("the link target {target} does not exist"));
    }
    if anchor.is_empty() {
        return None;
    }
    let text = cx.read(&path).unwrap_or_default();
    let mut headings = patterns.heading.captures_iter(&text).map(|found| slug(&found[1]));
    (!headings.any(|heading| heading == anchor)).then(|| format!("{path} has no heading #{anchor}"))
}

/// The page without blocks of code other than diagrams.
fn without_code(fence: &Regex, text: &str) -> String {
    let keep = |block: &regex::Captures<'_>| {
        if block[0].trim_start().starts_with("```mermaid") { block[0].to_owned() } else { String::new() }
    };
    fence.replace_all(text, keep).into_owned()
}

/// The anchor of a heading.
fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

/// A link's target, from the top of the checkout.
fn normalize(page: &str, link: &str) -> String {
    let mut path = Path::new(page).parent().map(Path::to_owned).unwrap_or_default();
    for part in Path::new(link).components() {
        match part {
            // Above the top it stays an upward path.
            Component::ParentDir if path.file_name().is_some() => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path.to_string_lossy().into_owned()
}

/// Whether what looks like a path is one of this repository: not a URL, not a type, not a path of another machine.
fn is_path_of_the_repository(text: &str, start: usize, end: usize) -> bool {
    let path = &text[start..end];
    // The end of a URL, or of an expression in code.
    let line_start = text[..start].rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let in_url = text[line_start..start].contains("://");
    let quoted = text[end..].starts_with('\'');
    if path.starts_with("../shared") || path.starts_with('/') || in_url || quoted {
        return false;
    }
    let file = path.ends_with(".rs") && !GENERAL.contains(&path);
    file || ROOTS.iter().any(|root| path.starts_with(root))
}

/// What the repository has.
struct Known<'a> {
    names: Names,
    /// The manifest of the workspace.
    dependencies: String,
    /// Folders that a path in prose may start from.
    bases: Vec<PathBuf>,
    sources: &'a [File],
}

impl Known<'_> {
    fn has_item(&self, name: &str) -> bool {
        self.names.has(name)
            || name.starts_with(METRICS)
            || self.dependencies.lines().any(|line| line.split(" = ").next() == Some(name))
    }

    /// Whether a path exists that a page in `folder` names. The end of a source file's path is enough.
    fn has_path(&self, path: &str, folder: &Path) -> bool {
        let path = path.replace('…', "*");
        let path = path.trim_end_matches(['/', '.']);
        let end = format!("/{path}");
        std::iter::once(folder).chain(self.bases.iter().map(PathBuf::as_path)).any(|base| matches(base, path))
            || self.sources.iter().any(|source| source.path.ends_with(&end))
    }
}

/// Whether a path, in which names may have `*`, exists below a folder.
fn matches(base: &Path, path: &str) -> bool {
    let Some(star) = path.find('*') else { return base.join(path).exists() };
    let split = path[..star].rfind('/').map_or(0, |at| at + 1);
    let (name, rest) = path[split..].split_once('/').unwrap_or((&path[split..], ""));
    let pattern = regex(&format!("^{}$", regex::escape(name).replace(r"\*", ".*")));
    let entries = std::fs::read_dir(base.join(&path[..split])).into_iter().flatten().flatten();
    entries
        .filter(|entry| pattern.is_match(&entry.file_name().to_string_lossy()))
        .any(|entry| if rest.is_empty() { true } else { matches(&entry.path(), rest) })
}

/// The file that the page of the test server's features is about.
pub(super) fn features_of_rows(support: &str) -> BTreeSet<String> {
    let name = regex("`([a-z]+)`");
    let rows = support.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|line| line.trim_end_matches('|').rsplit('|').next());
    cells
        .flat_map(|cell| name.captures_iter(cell).map(|found| found[1].to_owned()).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative_to_their_page() {
        assert_eq!(normalize("book/src/a/b.md", "../c.md"), "book/src/c.md");
        assert_eq!(normalize("README.md", "docs/"), "docs");
        assert_eq!(normalize("README.md", "../outside"), "../outside");
    }

    #[test]
    fn anchors_are_those_of_the_forge() {
        assert_eq!(
            slug("Why `serde_json` decodes, and not a parser"),
            "why-serde_json-decodes-and-not-a-parser"
        );
    }

    #[test]
    fn code_is_left_out_but_diagrams_are_not() {
        let fence = regex(r"(?ms)^ *```[^\n]*$.*?^ *```$");
        let text = "a\n```rust\nlet x;\n```\nb\n```mermaid\ncrates/kube\n```\n";
        assert_eq!(without_code(&fence, text), "a\n\nb\n```mermaid\ncrates/kube\n```\n");
    }

    #[test]
    fn urls_and_absolute_paths_are_no_files_of_the_repository() {
        let is_path = |text: &str, path: &str| {
            let start = text.find(path).unwrap();
            is_path_of_the_repository(text, start, start + path.len())
        };
        assert!(is_path("see crates/kube/src/x.rs", "crates/kube/src/x.rs"));
        assert!(!is_path("see https://example.com/src/x.rs", "src/x.rs"));
        assert!(!is_path("see /src/x.rs", "/src/x.rs"));
        assert!(!is_path("text/plain", "text/plain"));
    }

    #[test]
    fn a_star_stands_for_any_part_of_a_name() {
        let base = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(matches(base, "src/facts/p*.rs"));
        assert!(matches(base, "*/facts/pages.rs"));
        assert!(!matches(base, "src/facts/x*.rs"));
    }

    #[test]
    fn a_column_of_tests_names_tests() {
        let text = "// a_word_of_a_comment\npub fn an_item_of_it() {}\n#[test] fn the_sum_is_right() {}\n";
        let names =
            Names::of(&[File { path: "crates/a/tests/it/sums.rs".into(), text: text.into() }]).unwrap();
        let page = "| what | test |\n|---|---|\n| `a_word_of_a_comment` | `the_sum_is_…`, `the_sum_is_wrong`; `sums` |\n\
                    \nText.\n\n| what | where |\n|---|---|\n| a | `the_sum_is_wrong` |\n\
                    \n| shown by |\n|---|\n| `a_word_of_a_comment`, `an_item_of_it` |\n";
        assert_eq!(no_tests(page, &names), ["the_sum_is_wrong", "a_word_of_a_comment", "an_item_of_it"]);
    }

    #[test]
    fn features_are_the_names_in_the_last_column() {
        let support =
            "| area | feature |\n|---|---|\n| exec with `sh` | `shell` |\n| jobs | `workloads` for Jobs |\n";
        assert_eq!(features_of_rows(support), BTreeSet::from(["shell".into(), "workloads".into()]));
    }
}
