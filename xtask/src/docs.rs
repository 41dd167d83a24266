//! The documentation: rustdoc of the crates, and the book.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use walkdir::WalkDir;

use crate::context::Context;
use crate::job::{flag, no_arguments};
use crate::pattern::regex;
use crate::skip::skip;
use crate::{paths, tools};

/// With all features; warnings such as broken links are errors. `package` documents each crate with the features that docs.rs uses.
pub(crate) fn docs(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.cargo(&format!("doc {} --no-deps --locked", cx.workspace())).env("RUSTDOCFLAGS", "-D warnings").run()
}

/// Builds the book, checks its links and runs its samples; `--serve` shows it in a browser instead.
pub(crate) fn book(cx: &Context, args: &[String]) -> Result<()> {
    let serve = flag(args, "--serve")?;
    if !cx.exists(paths::BOOK) {
        return skip("there is no book/");
    }
    let mdbook = tools::mdbook(cx)?;
    if serve {
        return cx.command(mdbook).args(["serve", "--open", paths::BOOK]).run();
    }
    let html = cx.target.join("book");
    let output = cx.command(mdbook).args(["build", paths::BOOK, "--dest-dir"]).arg(&html).output()?;
    let text = output.text();
    print!("{text}");
    // A file or an anchor that cannot be included is only logged.
    let failed = output.code != 0 || text.lines().any(|line| line.contains("ERROR") || line.contains("WARN"));
    ensure!(!failed, "mdbook reports a problem");

    let mut wrong = unlisted(cx)?;
    let pages = read_html(&html)?;
    wrong.extend(broken_links(&pages, &html));
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("{} pages, every link leads somewhere: {}", pages.len(), html.join("index.html").display());
    // With the features of the whole workspace, so that the job `test` finds them built.
    cx.cargo(&format!("test --quiet --locked {}", cx.workspace())).args(paths::BOOK_SAMPLES).run()
}

/// Pages that the table of contents does not name: mdBook leaves them out.
fn unlisted(cx: &Context) -> Result<Vec<String>> {
    let summary = cx.read(format!("{}/SUMMARY.md", paths::BOOK_PAGES))?;
    let folder = cx.path(paths::BOOK_PAGES);
    let mut wrong = Vec::new();
    for entry in WalkDir::new(&folder) {
        let entry = entry?;
        let name = entry.path().strip_prefix(&folder)?.to_string_lossy().into_owned();
        let named = summary.contains(&format!("({name})")) || summary.contains(&format!("(./{name})"));
        if name.ends_with(".md") && name != "SUMMARY.md" && !named {
            wrong.push(format!("{}/{name}: SUMMARY.md does not name it", paths::BOOK_PAGES));
        }
    }
    Ok(wrong)
}

/// Every page of the built book.
fn read_html(folder: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut pages = BTreeMap::new();
    for entry in WalkDir::new(folder) {
        let path = entry?.into_path();
        // These two repeat the other pages or belong to no place.
        let whole = path.ends_with("print.html") || path.ends_with("404.html") || path.ends_with("toc.html");
        if path.extension().is_some_and(|extension| extension == "html") && !whole {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            pages.insert(path, text);
        }
    }
    Ok(pages)
}

/// Links between the pages that lead to no file or to no heading.
fn broken_links(pages: &BTreeMap<PathBuf, String>, folder: &Path) -> Vec<String> {
    let attribute = regex(r#"(?:href|src)="([^"]*)""#);
    let id = regex(r#"id="([^"]*)""#);
    let ids = |text: &str| id.captures_iter(text).map(|found| found[1].to_owned()).collect::<BTreeSet<_>>();
    let anchors: BTreeMap<_, _> = pages.iter().map(|(path, text)| (path, ids(text))).collect();
    let mut wrong = BTreeSet::new();
    for (page, text) in pages {
        for found in attribute.captures_iter(text) {
            let link = &found[1];
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            if path.contains(':') || path.starts_with("//") || link == "#" {
                continue;
            }
            let file = if path.is_empty() { page.clone() } else { resolve(page, path) };
            // Out of the book into the repository: `facts` checks that, in the pages as they are written.
            if !file.starts_with(folder) {
                continue;
            }
            let known = match anchors.get(&file) {
                Some(ids) => anchor.is_empty() || ids.contains(anchor),
                None => file.is_file() || file.join("index.html").is_file(),
            };
            if !known {
                let shown = page.strip_prefix(folder).unwrap_or(page).display();
                wrong.insert(format!("book: {shown} links to {link}, which does not exist"));
            }
        }
    }
    wrong.into_iter().collect()
}

/// The file that a link of a page means.
fn resolve(page: &Path, link: &str) -> PathBuf {
    let mut file = page.parent().unwrap_or(page).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(file.pop()),
            Component::Normal(name) => file.push(name),
            _ => {}
        }
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_missing_pages_and_headings_are_found() {
        let page = |links: &str| format!("<h1 id=\"top\">x</h1>{links}");
        let links = "<a href=\"b.html\"><a href=\"b.html#top\"><a href=\"#top\"><a href=\"https://example.com/x\">\
                     <a href=\"../README.html\">";
        let broken = "<a href=\"../b.html#nowhere\"><a href=\"c.html\">";
        let pages = BTreeMap::from([
            ("/book/a.html".into(), page(links)),
            ("/book/b.html".into(), page("")),
            ("/book/sub/d.html".into(), page(broken)),
        ]);
        assert_eq!(
            broken_links(&pages, Path::new("/book")),
            [
                "book: sub/d.html links to ../b.html#nowhere, which does not exist",
                "book: sub/d.html links to c.html, which does not exist"
            ]
        );
    }
}
