//! The tables in a Markdown file, between marks.

use std::path::{Component, Path, PathBuf};

use anyhow::Context;

use crate::case::Table;

/// `markdown` with the table replaced.
pub(crate) fn with_table(markdown: &str, table: Table, text: &str) -> anyhow::Result<String> {
    let name = table.name();
    let begin = format!("<!-- bench {name}: written by `bench --update` -->\n");
    let end = format!("<!-- end of bench {name} -->");
    let broken = || format!("no table between {:?} and {end:?}", begin.trim_end());
    let (before, rest) = markdown.split_once(&begin).with_context(broken)?;
    let (_, after) = rest.split_once(&end).with_context(broken)?;
    Ok(format!("{before}{begin}\n{}\n\n{end}{after}", text.trim()))
}

/// The path of a folder as a link in `page` names it.
pub(crate) fn link(page: &Path, folder: &Path) -> anyhow::Result<String> {
    let absolute = |path: &Path| std::path::absolute(path).with_context(|| path.display().to_string());
    let (page, folder) = (absolute(page)?, absolute(folder)?);
    let home: Vec<_> = page.parent().context("--update: expected a file")?.components().collect();
    let target: Vec<_> = folder.components().collect();
    let common = home.iter().zip(&target).take_while(|(one, other)| one == other).count();
    let up = home[common..].iter().map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(target[common..].iter().copied()).collect();
    Ok(if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title
<!-- bench list: written by `bench --update` -->
old
<!-- end of bench list -->
<!-- bench growth: written by `bench --update` -->
<!-- end of bench growth -->
rest
";

    #[test]
    fn only_the_text_between_the_marks_of_the_table_is_replaced() {
        let once = with_table(PAGE, Table::List, "| new |\n").unwrap();
        assert_eq!(once, PAGE.replace("old\n", "\n| new |\n\n"));
        assert_eq!(with_table(&once, Table::List, "| new |\n").unwrap(), once);
        let both = with_table(&once, Table::Growth, "x").unwrap();
        assert!(both.contains("-->\n\nx\n\n<!-- end of bench growth -->\nrest\n"), "{both}");
    }

    #[test]
    fn missing_marks_are_an_error_that_names_them() {
        let error = with_table(PAGE, Table::Watch, "x").unwrap_err().to_string();
        assert!(
            error.contains("<!-- bench watch:") && error.contains("<!-- end of bench watch -->"),
            "{error}"
        );
    }

    #[test]
    fn links_are_relative_to_the_page() {
        let link = |page: &str, folder: &str| link(Path::new(page), Path::new(folder)).unwrap();
        assert_eq!(link("bench/results/2026-11-25.md", "bench/results/plots"), "plots");
        assert_eq!(link("/a/docs/b.md", "/a/plots"), "../plots");
        assert_eq!(link("/a/docs/b.md", "/a/docs"), ".");
    }

    #[test]
    fn the_newest_report_has_the_marks_of_every_table() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/results")).unwrap();
        let files = folder.map(|entry| entry.unwrap().path());
        let is_report = |file: &std::path::PathBuf| {
            file.extension().is_some_and(|it| it == "md") && !file.ends_with("README.md")
        };
        let page = std::fs::read_to_string(files.filter(is_report).max().unwrap()).unwrap();
        for table in Table::ALL {
            with_table(&page, table, "x").unwrap();
        }
    }
}
