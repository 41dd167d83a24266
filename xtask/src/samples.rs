//! The job `samples`: the Rust code of the book stands in its pages, and is the code that the tests of examples/ compile and run.
//!
//! A page marks a block with a comment before it, `<!-- sample: examples/book/apply.rs:all -->`; the file marks the lines with
//! `// ANCHOR: all` and `// ANCHOR_END: all`.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use regex::Captures;

use crate::context::Context;
use crate::facts::{File, pages};
use crate::job::flag;
use crate::pattern::regex;

/// What a page that includes a file in another way would contain.
const INCLUDE: &str = "{{#";
const MARK: &str = "<!-- sample: ";
/// A mark with the block after it: file, anchor, and what stands before and after the code.
const BLOCK: &str = r"(?ms)^(<!-- sample: (\S+):(\w+) -->\n+```rust[^\n]*\n)(.*?)^(```)$";

/// `--update` writes the code of the files into the pages.
pub(crate) fn samples(cx: &Context, args: &[String]) -> Result<()> {
    let update = flag(args, "--update")?;
    let mut wrong = Vec::new();
    let mut blocks = 0;
    for page in pages(cx)? {
        let current = current(&page, |path| cx.read(path)).with_context(|| page.path.clone())?;
        blocks += current.blocks;
        if update && current.text != page.text {
            std::fs::write(cx.path(&page.path), current.text)?;
            println!("{} is written", page.path);
        } else {
            wrong.extend(
                current.outdated.iter().map(|sample| format!("{}: differs from {sample}", page.path)),
            );
        }
    }
    if !wrong.is_empty() {
        bail!("{}\n`cargo xtask samples --update` writes what the files have", wrong.join("\n"));
    }
    println!("{blocks} samples of the pages are the code that is tested");
    Ok(())
}

/// A page as its samples want it.
#[derive(Debug)]
struct Page {
    text: String,
    blocks: usize,
    /// Samples that the page shows differently.
    outdated: Vec<String>,
}

fn current(page: &File, read: impl Fn(&str) -> Result<String>) -> Result<Page> {
    if page.text.contains(INCLUDE) {
        bail!("{INCLUDE} is plain text to a reader of the repository: mark the code with {MARK}...-->");
    }
    let block = regex(BLOCK);
    let blocks = block.captures_iter(&page.text).count();
    if blocks != page.text.lines().filter(|line| line.starts_with(MARK)).count() {
        bail!("a line {MARK}FILE:ANCHOR --> is not followed by a block of Rust code");
    }
    let mut outdated = Vec::new();
    let mut failure = None;
    let text = block.replace_all(&page.text, |found: &Captures<'_>| {
        let (path, anchor) = (&found[2], &found[3]);
        match read(path).and_then(|file| region(&file, anchor)) {
            Ok(code) => {
                if code != found[4] {
                    outdated.push(format!("{path}:{anchor}"));
                }
                [&found[1], &code, &found[5]].concat()
            }
            Err(error) => {
                failure.get_or_insert(error.context(format!("{path}:{anchor}")));
                found[0].to_owned()
            }
        }
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    let text = text.into_owned();
    // The reader of the tutorial has the whole files: `cargo kube new` has written them.
    let files: BTreeSet<&str> =
        block.captures_iter(&text).filter_map(|found| found.get(2)).map(|it| it.as_str()).collect();
    for path in files.into_iter().filter(|path| !path.contains("/tutorial/")) {
        let missing = missing_functions(&shown(&text, path), &read(path)?);
        if !missing.is_empty() {
            bail!("the page calls functions of {path} that it does not show: {}", missing.join(", "));
        }
    }
    Ok(Page { text, blocks, outdated })
}

/// The code of a file on a page.
fn shown(page: &str, path: &str) -> String {
    let block = regex(BLOCK);
    let of_file = block.captures_iter(page).filter(|found| &found[2] == path);
    of_file.map(|found| found[4].to_owned()).collect()
}

/// The functions of a file that the code from it calls, and does not have: whoever types it gets no program.
fn missing_functions(code: &str, file: &str) -> Vec<String> {
    let defined = |text: &str| -> BTreeSet<String> {
        regex(r"\bfn (\w+)").captures_iter(text).map(|found| found[1].to_owned()).collect()
    };
    let here = defined(code);
    let is_called = |name: &String| regex(&format!(r"(?m)(^|[^\w.:]){name}\(")).is_match(code);
    defined(file).into_iter().filter(|name| !here.contains(name) && is_called(name)).collect()
}

/// The lines between the marks of an anchor, without other marks, moved to the left margin.
fn region(file: &str, anchor: &str) -> Result<String> {
    let (start, end) = (format!("// ANCHOR: {anchor}"), format!("// ANCHOR_END: {anchor}"));
    let mut inside = file.lines().skip_while(|line| line.trim() != start);
    if inside.next().is_none() {
        bail!("there is no line {start}");
    }
    let lines: Vec<_> = inside.collect();
    let Some(length) = lines.iter().position(|line| line.trim() == end) else {
        bail!("there is no line {end}");
    };
    let lines = lines[..length].iter().filter(|line| !line.trim_start().starts_with("// ANCHOR"));
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let margin = lines.clone().filter(|line| !line.trim().is_empty()).map(indent).min();
    let margin = margin.unwrap_or(0);
    Ok(lines.map(|line| format!("{}\n", line.get(margin..).unwrap_or_default())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "mod x {\n    // ANCHOR: all\n    fn f() {\n        // ANCHOR: part\n        g();\n        // ANCHOR_END: part\n    }\n    \
                        // ANCHOR_END: all\n}\n";

    fn check(text: &str) -> Result<Page> {
        let page = File { path: "page.md".into(), text: text.into() };
        current(&page, |path| match path {
            "a.rs" => Ok(CODE.to_owned()),
            _ => bail!("no such file"),
        })
    }

    #[test]
    fn a_sample_is_the_code_between_its_marks() {
        assert_eq!(region(CODE, "all").unwrap(), "fn f() {\n    g();\n}\n");
        assert_eq!(region(CODE, "part").unwrap(), "g();\n");
        assert_eq!(region(CODE, "none").unwrap_err().to_string(), "there is no line // ANCHOR: none");
    }

    #[test]
    fn a_block_that_differs_is_named_and_replaced() {
        let page = |code: &str| format!("Text.\n\n<!-- sample: a.rs:part -->\n```rust\n{code}```\n\nMore.\n");
        let same = check(&page("g();\n")).unwrap();
        assert_eq!((same.blocks, same.outdated.len()), (1, 0));
        let other = check(&page("h();\nh();\n")).unwrap();
        assert_eq!(other.outdated, ["a.rs:part"]);
        assert_eq!(other.text, page("g();\n"));
    }

    #[test]
    fn what_a_page_calls_is_on_the_page() {
        let file = "// ANCHOR: part\nfn f() {\n    g(x.h());\n}\n// ANCHOR_END: part\nfn g() {}\nfn h() {}\n";
        let read = |_: &str| Ok(file.to_owned());
        let page = |path: &str| File {
            path: "page.md".into(),
            text: format!("<!-- sample: {path}:part -->\n```rust\nfn f() {{\n    g(x.h());\n}}\n```\n"),
        };
        let error = current(&page("a.rs"), read).unwrap_err().to_string();
        assert_eq!(error, "the page calls functions of a.rs that it does not show: g");
        assert!(current(&page("examples/book/tutorial/1/a.rs"), read).is_ok(), "the reader has the file");
        let whole = format!("{file}// ANCHOR: rest\nfn g() {{}}\n// ANCHOR_END: rest\n");
        let both = format!("{}\n<!-- sample: a.rs:rest -->\n```rust\nfn g() {{}}\n```\n", page("a.rs").text);
        assert!(current(&File { path: "page.md".into(), text: both }, |_| Ok(whole.clone())).is_ok());
    }

    #[test]
    fn a_mark_without_code_or_file_and_an_include_are_errors() {
        assert!(check("<!-- sample: a.rs:part -->\ntext\n").is_err());
        assert!(check("<!-- sample: b.rs:part -->\n```rust\n```\n").is_err());
        assert!(check("```rust\n{{#include a.rs:part}}\n```\n").is_err());
    }
}
