//! The job `conformance-genuine`: the conformance suite on genuine servers, and the table of its results.

use anyhow::{Context as _, Result, ensure};
use similar::TextDiff;

use super::realapi::{self, Server};
use crate::context::{Context, scratch};
use crate::facts;
use crate::job::choices;

/// Every case must pass or be not applicable, and the servers' columns of the table must be equal to the results.
pub(crate) fn conformance(cx: &Context, args: &[String]) -> Result<()> {
    realapi::program(cx)?;
    let servers = choices(args, &["modern", "core"], &["modern", "core"])?;
    let page = table_page(cx)?;
    let documented = cx.read(&page)?;
    let folder = scratch()?;
    let table = folder.path().join("table.md");
    std::fs::write(&table, &documented)?;
    let program = cx.build("--bin", "conformance")?;
    for name in &servers {
        let server = Server::up(cx, name)?;
        let suite = cx.command(&program).arg("--kubeconfig").arg(&server.kubeconfig);
        suite.arg("--table").arg(&table).args(["--column", name]).run()?;
    }
    let measured = std::fs::read_to_string(&table)?;
    let diff = TextDiff::from_lines(&documented, &measured).unified_diff().context_radius(0).to_string();
    ensure!(diff.is_empty(), "the table in {page} differs from the results:\n{diff}");
    println!("the columns {} of {page} match the results", servers.join(" and "));
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
    ["modern", "core"].iter().all(|name| cells.iter().any(|cell| cell.trim_matches('`') == *name))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_found_by_its_columns() {
        assert!(super::is_header("| case | embedded | `modern` | core |"));
        assert!(!super::is_header("| modern | 1.36 |"));
    }
}
