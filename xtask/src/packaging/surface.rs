//! The job `surface`: the public API has every item of the 5.0 surface, and only listed ones have another signature.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};

use crate::context::Context;
use crate::job::flag;
use crate::paths;
use crate::skip::skip;

/// `--update` rewrites the list; review the difference before you commit it.
pub(crate) fn surface(cx: &Context, args: &[String]) -> Result<()> {
    let update = flag(args, "--update")?;
    if !cx.exists(paths::APIDIFF) {
        return skip(format!("no {}", paths::APIDIFF));
    }
    cx.require(&["python3"])?;
    let output = cx.command("python3").args([paths::APIDIFF, ".", "-v"]).output()?;
    let text = output.text();
    text.lines().filter(|line| line.starts_with("kube-")).for_each(|line| println!("{line}"));
    if output.code != 0 {
        let missing: Vec<_> = text.lines().filter(|line| line.starts_with("missing")).collect();
        let why = if missing.is_empty() { text.clone() } else { missing.join("\n") };
        bail!("{why}\nitems of the 5.0 surface are missing");
    }
    let differing = differing(&text);
    let recorded = cx.read(paths::SURFACE)?;
    if update {
        std::fs::write(cx.path(paths::SURFACE), updated(&recorded, &differing))?;
        return Ok(());
    }
    let listed: BTreeSet<_> = recorded.lines().filter(|line| !line.starts_with('#')).collect();
    let unlisted: Vec<_> =
        differing.difference(&listed).map(|item| format!("{item} differs and is not listed")).collect();
    let outdated: Vec<_> =
        listed.difference(&differing).map(|item| format!("{item} is listed and does not differ")).collect();
    let wrong = [unlisted, outdated].concat();
    ensure!(wrong.is_empty(), "{}: {}", paths::SURFACE, wrong.join("\n"));
    println!("no item is missing; {} signatures differ as listed", differing.len());
    Ok(())
}

/// The items of a report that have another signature.
fn differing(report: &str) -> BTreeSet<&str> {
    report.lines().filter_map(|line| line.strip_prefix("differs")).map(str::trim).collect()
}

/// The list with its header.
fn updated(recorded: &str, differing: &BTreeSet<&str>) -> String {
    let header = recorded.lines().filter(|line| line.starts_with('#'));
    header.chain(differing.iter().copied()).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_keeps_the_header_and_replaces_the_items() {
        let now = differing("kube-core: 2 items\ndiffers  kube::b\ndiffers  kube::a\nmissing kube::c\n");
        assert_eq!(updated("# why\nkube::old\n", &now), "# why\nkube::a\nkube::b\n");
    }
}
