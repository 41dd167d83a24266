//! The job `conformance-genuine`: the conformance suite on a genuine server, and the table of its results.

use anyhow::{Context as _, Result, ensure};
use similar::TextDiff;

use super::realapi::{self, Server};
use crate::context::{Context, scratch};
use crate::facts;
use crate::job::no_arguments;

/// The server, and the name of its column.
const SERVER: &str = "v1.37";

/// Every case must pass, and the server's column of the table must be equal to the results.
pub(crate) fn conformance(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    realapi::program(cx)?;
    let page = table_page(cx)?;
    let documented = cx.read(&page)?;
    let folder = scratch()?;
    let table = folder.path().join("table.md");
    std::fs::write(&table, &documented)?;
    let program = cx.build("--bin", "conformance")?;
    let server = Server::up(cx, SERVER)?;
    let suite = cx.command(&program).arg("--kubeconfig").arg(&server.kubeconfig);
    suite.arg("--table").arg(&table).args(["--column", SERVER]).run()?;
    let measured = std::fs::read_to_string(&table)?;
    let diff = TextDiff::from_lines(&documented, &measured).unified_diff().context_radius(0).to_string();
    ensure!(diff.is_empty(), "the table in {page} differs from the results:\n{diff}");
    println!("the column {SERVER} of {page} matches the results");
    Ok(())
}

/// The page with the table: the one that has its columns.
fn table_page(cx: &Context) -> Result<String> {
    let mut pages = facts::pages(cx)?.into_iter();
    let page = pages.find(|page| page.text.lines().any(is_header));
    Ok(page.context("no page has the table of the conformance suite")?.path)
}

fn is_header(line: &str) -> bool {
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    ["embedded", SERVER].iter().all(|name| cells.iter().any(|cell| cell.trim_matches('`') == *name))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_found_by_its_columns() {
        assert!(super::is_header("| area | embedded | `v1.37` |"));
        assert!(!super::is_header("| embedded | 1.37 |"));
    }
}
