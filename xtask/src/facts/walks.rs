//! The pages that lead a reader through the code name files by their whole paths, once, in the order of the code.
//!
//! Where one function passes data on to file after file, it is the witness of the order. A page names it in a comment, with the words by
//! which it names the steps: `<!-- order: crates/a/src/stack.rs, above: trace retry auth -->`. These words stand in the function in this
//! order, and in the rows of the page's table. A source file whose first comment has such a list names its steps in the same way.

use super::files::{File, without_rust};
use crate::paths;
use crate::pattern::regex;

/// A walk with fewer files shows nothing, nor does an order of fewer steps.
const FILES: usize = 5;
const STEPS: usize = 3;

pub(super) fn check(pages: &[File], sources: &[File]) -> Vec<String> {
    let walk = |path: &&str| match pages.iter().find(|page| page.path == **path) {
        Some(page) => check_page(page, sources),
        None => vec![format!("{path} does not exist")],
    };
    let lists = sources.iter().filter_map(list_of_steps).flat_map(|file| check_list(&file, sources));
    paths::WALKS.iter().flat_map(walk).chain(lists).collect()
}

/// The first comment of a source file that names a witness.
fn list_of_steps(source: &File) -> Option<File> {
    let lines = source.text.lines().map_while(|line| line.strip_prefix("//!"));
    let text: String = lines.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned() + "\n").collect();
    text.lines()
        .any(|line| line.starts_with("<!-- order: "))
        .then(|| File { path: source.path.clone(), text })
}

fn check_list(file: &File, sources: &[File]) -> Vec<String> {
    let row = regex(r"^\d+\. ");
    let rows: Vec<_> = file.text.lines().filter(|line| row.is_match(line)).collect();
    let wrong = check_order(&file.text, &rows, sources);
    wrong.into_iter().map(|what| format!("{}: {what}", file.path)).collect()
}

/// Diagrams name files as well; samples of code are no part of the way.
fn check_page(page: &File, sources: &[File]) -> Vec<String> {
    let file = regex(r"[\w./-]+\.rs\b");
    let prose = without_rust(&page.text);
    let lines: Vec<_> = prose.lines().filter(|line| !line.starts_with("<!--")).collect();
    let named: Vec<_> =
        lines.iter().flat_map(|line| file.find_iter(line).map(|name| name.as_str())).collect();
    let missing = named.iter().filter(|name| !sources.iter().any(|source| source.path == **name));
    let mut wrong: Vec<_> = missing.map(|name| format!("{name} does not exist")).collect();
    let rows: Vec<_> =
        lines.into_iter().filter(|line| line.starts_with('|') && file.is_match(line)).collect();
    let mut steps: Vec<_> =
        rows.iter().flat_map(|row| file.find_iter(row).map(|name| name.as_str())).collect();
    if steps.len() < FILES {
        wrong.push(format!("its table names {} files of the code, fewer than {FILES}", steps.len()));
    }
    steps.sort_unstable();
    wrong.extend(
        steps.windows(2).filter(|two| two[0] == two[1]).map(|two| format!("{} is two steps", two[0])),
    );
    wrong.extend(check_order(&page.text, &rows, sources));
    wrong.into_iter().map(|what| format!("{}: {what}", page.path)).collect()
}

/// What differs between the order of the rows and that of the functions that the page names as witnesses.
fn check_order(page: &str, rows: &[&str], sources: &[File]) -> Vec<String> {
    let order = regex(r"(?m)^<!-- order: (\S+), (\w+): ([\w ]+) -->$");
    let mut wrong = Vec::new();
    for found in order.captures_iter(page) {
        let (_, [path, name, words]) = found.extract();
        let words: Vec<_> = words.split_whitespace().collect();
        let source = sources.iter().find(|source| source.path == path);
        let Some(body) = source.and_then(|source| body(&source.text, name)) else {
            wrong.push(format!("{path} has no function {name}"));
            continue;
        };
        if words.len() < STEPS {
            wrong.push(format!("an order of {} steps, fewer than {STEPS}", words.len()));
        }
        let places =
            |in_what: &str| format!("{in_what} does not name the steps in the order of the page's comment");
        if let Some(word) = out_of_order(&words, body.lines()) {
            wrong.push(format!("{}, or not at all: {word}", places(name)));
        }
        if let Some(word) = out_of_order(&words, rows.iter().copied()) {
            wrong.push(format!("{}, or not at all: {word}", places("its list")));
        }
    }
    if !order.is_match(page) {
        wrong.push("expected a comment that names the function which shows the order of the steps".into());
    }
    wrong
}

/// The first of the words that is in no line behind the line of the word before it.
fn out_of_order<'a, 'w>(words: &[&'w str], lines: impl Iterator<Item = &'a str>) -> Option<&'w str> {
    let mut lines = lines;
    words.iter().copied().find(|word| !lines.any(|line| has_word(line, word)))
}

/// Whether a line has the word, whole or as a part of an identifier, in any case and number.
fn has_word(line: &str, word: &str) -> bool {
    regex(&format!("(?:^|[^A-Za-z])(?i:{})s?(?:$|[^a-z])", word.replace('_', "[_ ]?"))).is_match(line)
}

/// The lines of a function, up to the brace at the column of its first line.
fn body<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = regex(&format!(r"(?m)^( *)(?:pub(?:\([^)]*\))? )?(?:async )?fn {name}\b"));
    let found = start.captures(text)?;
    let rest = &text[found.get(0)?.end()..];
    let end = rest.find(&format!("\n{}}}", &found[1]))?;
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: &str = "fn other() {\n    auth();\n}\n\nfn above() {\n    let retry = retry();\n    builder()\n        .layer(trace_layer())\n\
                         \x20       .layer(retry)\n        .layer(ReauthLayer)\n        .layer(AuthLayer::new())\n}\n";
    const STEPS: [&str; 5] = ["trace", "retry", "reauth", "auth", "stack"];

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    /// What is wrong in a page with this comment, rows of these files, and an end.
    fn page(order: &str, steps: &[&str], end: &str) -> Vec<String> {
        let mut sources: Vec<_> = STEPS.map(|name| file(&format!("crates/a/src/{name}.rs"), "")).into();
        sources[4].text = STACK.into();
        let rows: String =
            steps.iter().map(|name| format!("| a step | `crates/a/src/{name}.rs` |\n")).collect();
        let text = format!("<!-- order: {order} -->\n\n| step | file |\n|---|---|\n{rows}\n{end}");
        check_page(&file("walk.md", &text), &sources)
    }

    const ORDER_OF_LIST: &str = "trace retry auth";
    const ORDER: &str = "crates/a/src/stack.rs, above: trace retry reauth auth";

    #[test]
    fn a_walk_names_files_by_their_whole_paths() {
        assert_eq!(page(ORDER, &STEPS, ""), [""; 0]);
        let sample = "<!-- sample: examples/x.rs:all -->\n```rust\n// y.rs\n```\n";
        let moved = page(ORDER, &STEPS, &format!("`src/auth.rs`\n```text\nmachine.rs\n```\n{sample}"));
        assert_eq!(moved, ["walk.md: src/auth.rs does not exist", "walk.md: machine.rs does not exist"]);
    }

    #[test]
    fn a_walk_names_each_of_enough_files_once() {
        let twice = page(ORDER, &["trace", "retry", "trace", "reauth", "auth"], "");
        assert_eq!(twice, ["walk.md: crates/a/src/trace.rs is two steps"]);
        let few = page(ORDER, &STEPS[..4], "`crates/a/src/stack.rs`\n");
        assert_eq!(few, ["walk.md: its table names 4 files of the code, fewer than 5"]);
    }

    #[test]
    fn a_walk_has_the_order_of_the_code() {
        let swapped = page(ORDER, &["trace", "reauth", "retry", "auth", "stack"], "");
        let expected = "does not name the steps in the order of the page's comment, or not at all:";
        assert_eq!(swapped, [format!("walk.md: its list {expected} reauth")]);
        let both = page(
            "crates/a/src/stack.rs, above: trace reauth retry auth",
            &["trace", "reauth", "retry", "auth", "stack"],
            "",
        );
        assert_eq!(both, [format!("walk.md: above {expected} retry")]);
        let renamed = page("crates/a/src/stack.rs, over: trace retry auth", &STEPS, "");
        assert_eq!(renamed, ["walk.md: crates/a/src/stack.rs has no function over"]);
        let none = page("", &STEPS, "");
        assert_eq!(
            none,
            ["walk.md: expected a comment that names the function which shows the order of the steps"]
        );
        let short = page("crates/a/src/stack.rs, above: trace auth", &STEPS, "");
        assert_eq!(short, ["walk.md: an order of 2 steps, fewer than 3"]);
    }

    #[test]
    fn a_list_in_a_source_file_has_the_order_of_the_code() {
        let list = |steps: [&str; 3]| {
            let rows: String =
                (1..).zip(steps).map(|(at, step)| format!("//! {at}. `{step}`: what it does\n")).collect();
            let text = format!(
                "//! Layers.\n//!\n//! <!-- order: crates/a/src/stack.rs, above: {ORDER_OF_LIST} -->\n//!\n{rows}\nmod a;\n"
            );
            let sources = [file("crates/a/src/stack.rs", STACK), file("crates/a/src/mod.rs", &text)];
            let list = list_of_steps(&sources[1]).unwrap();
            check_list(&list, &sources)
        };
        assert_eq!(list(["trace", "retry", "auth"]), [""; 0]);
        let wrong =
            "its list does not name the steps in the order of the page's comment, or not at all: auth";
        assert_eq!(list(["trace", "auth", "retry"]), [format!("crates/a/src/mod.rs: {wrong}")]);
    }
}
