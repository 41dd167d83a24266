//! The five situations that operators test most. `docs/testing.md` shows these files.

// A panic fails the test. Types are public, as in a program.
#![allow(clippy::unwrap_used, unreachable_pub)]

mod conflict;
mod deletion;
mod reconcile;
mod upgrade;
mod webhook;

/// Each block after a marker `<!-- examples/testing/FILE.rs -->` is the file without its first comment. `UPDATE_DOCS=1` writes the blocks.
#[test]
fn the_page_shows_these_files() {
    const FILES: [&str; 5] = ["reconcile", "conflict", "deletion", "webhook", "upgrade"];
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = here.join("../docs/testing.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let mut current = text.clone();
    for name in FILES {
        let marker = format!("<!-- examples/testing/{name}.rs -->\n```rust,ignore\n");
        let (before, rest) =
            current.split_once(&marker).unwrap_or_else(|| panic!("docs/testing.md: no marker {marker:?}"));
        let (_, after) = rest
            .split_once("```\n")
            .unwrap_or_else(|| panic!("docs/testing.md: the block of {name}.rs has no end"));
        let file = std::fs::read_to_string(here.join(format!("testing/{name}.rs"))).unwrap();
        let code: String = file
            .lines()
            .skip_while(|line| line.starts_with("//!") || line.is_empty())
            .map(|line| format!("{line}\n"))
            .collect();
        current = format!("{before}{marker}{code}```\n{after}");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(page, current).unwrap();
        return;
    }
    assert!(
        text == current,
        "docs/testing.md differs from examples/testing: UPDATE_DOCS=1 cargo test -p kube-examples --test testing"
    );
}
