//! The job `official-e2e`: end-to-end tests of Kubernetes that pass on a genuine cluster pass on the embedded server, except for known
//! gaps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::suite::{Case, Seen, Stage};
use crate::genuine;
use crate::paths;

/// Every namespace needs its service account and a CA, as on a cluster.
const SERVER: &str = "--service-accounts --tls";
/// For all specs of the lists; a run takes half an hour on two cores.
const LIMIT: Duration = Duration::from_secs(120 * 60);

/// The specs of all lists whose names contain one of the arguments, or all: `sig-auth` is part of the names of its specs.
pub(super) fn cases<'a>(stage: &Stage<'a>) -> Result<Vec<Case<'a>>> {
    let cx = stage.cx;
    let realapi = genuine::program(cx)?;
    let mut names = listed(&cx.path(paths::OFFICIAL_E2E))?;
    let gaps = gaps_of(&cx.read(paths::OFFICIAL_E2E_GAPS)?)?;
    let unlisted = gaps.iter().find(|name| !names.contains(name));
    ensure!(unlisted.is_none(), "{unlisted:?} is in {}, but in no list", paths::OFFICIAL_E2E_GAPS);
    names.retain(|name| stage.args.is_empty() || stage.args.iter().any(|part| name.contains(part)));
    ensure!(!names.is_empty(), "no spec of {} contains {}", paths::OFFICIAL_E2E, stage.args.join(" or "));
    let report = stage.work.join("report.json");
    let run = cx.command(realapi).arg("e2e").arg(stage.work.join("e2e.kubeconfig")).arg(stage.work);
    // Specs of sig-cli run kubectl.
    let run = run.arg(focus(&names)).arg(format!("--kubectl-path={}", genuine::kubectl(cx)?.display()));
    let run = run
        .arg(format!("--ginkgo.json-report={}", report.display()))
        .arg("--ginkgo.timeout=115m")
        .limit(LIMIT);
    let seen: Seen<'_> = Box::new(move |output| {
        let text =
            std::fs::read_to_string(&report).with_context(|| format!("no report: {}", output.text()))?;
        let wrong = wrong(&names, &gaps, &results(&serde_json::from_str(&text)?));
        let listed = names.iter().filter(|name| gaps.contains(*name)).count();
        println!("{} specs, {listed} of them in {}", names.len(), paths::OFFICIAL_E2E_GAPS);
        ensure!(wrong.is_empty(), "{} specs are not as listed:\n{}", wrong.len(), wrong.join("\n"));
        Ok(())
    });
    Ok(vec![Case { name: "e2e".into(), server: Some(SERVER.into()), steps: vec![(run, seen)] }])
}

/// The names in all lists.
fn listed(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let file = file?;
        if file.file_name().as_encoded_bytes().starts_with(b"sig-") {
            names.extend(lines(&std::fs::read_to_string(file.path())?).map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

fn lines(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The names in lines of `name: reason`. Names contain colons, and end with a bracket.
fn gaps_of(list: &str) -> Result<BTreeSet<String>> {
    let name = |line: &str| {
        let (name, _) = line.split_once("]: ").with_context(|| format!("{line}: expected `name: reason`"))?;
        Ok(format!("{name}]"))
    };
    lines(list).map(name).collect()
}

/// What differs from the lists: specs that fail, gaps that pass, and names that no spec has.
fn wrong(
    names: &[String],
    gaps: &BTreeSet<String>,
    results: &BTreeMap<String, Option<String>>,
) -> Vec<String> {
    let problem = |name: &String| match (results.get(name), gaps.contains(name)) {
        (None, _) => Some(format!("{name}: there is no such spec")),
        (Some(None), true) => Some(format!("{name} passes: take it off {}", paths::OFFICIAL_E2E_GAPS)),
        (Some(Some(why)), false) => Some(format!("{name}: {why}")),
        (Some(None), false) | (Some(Some(_)), true) => None,
    };
    names.iter().filter_map(problem).collect()
}

/// A pattern that matches these names and no longer ones.
fn focus(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
    format!("({})$", names.join("|"))
}

/// Of each spec that ran, by name: nothing if it passed, else its state and why.
fn results(report: &Value) -> BTreeMap<String, Option<String>> {
    let suites = report.as_array().into_iter().flatten();
    let specs = suites.flat_map(|suite| suite["SpecReports"].as_array().into_iter().flatten());
    let ran = specs.filter(|spec| spec["LeafNodeType"] == "It" && spec["NumAttempts"] != 0);
    ran.map(|spec| {
        let containers = spec["ContainerHierarchyTexts"].as_array().into_iter().flatten();
        let texts: Vec<&str> = containers.chain([&spec["LeafNodeText"]]).filter_map(Value::as_str).collect();
        let state = spec["State"].as_str().unwrap_or_default();
        let why = spec["Failure"]["Message"].as_str().unwrap_or_default();
        (texts.join(" "), (state != "passed").then(|| format!("{state}: {why}")))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        assert_eq!(focus(&["[sig] a.".into(), "b".into()]), r"(\[sig\] a\.|b)$");
    }

    #[test]
    fn a_gap_that_passes_and_a_spec_that_fails_are_wrong() {
        let gaps = gaps_of("# about\n[sig] a: b [Slow]: it waits: long\n").unwrap();
        assert_eq!(gaps, BTreeSet::from(["[sig] a: b [Slow]".to_owned()]));
        gaps_of("[sig] a [Slow]").unwrap_err();
        let judged = |gap: Option<&str>, other: Option<&str>| {
            let results = [("[sig] a: b [Slow]", gap), ("[sig] c", other)];
            let results = results.map(|(name, why)| (name.to_owned(), why.map(str::to_owned)));
            wrong(&["[sig] a: b [Slow]".into(), "[sig] c".into()], &gaps, &results.into())
        };
        assert_eq!(judged(Some("failed"), None), [""; 0]);
        assert_eq!(judged(Some("failed"), Some("failed: why")), ["[sig] c: failed: why"]);
        assert_eq!(judged(None, None).len(), 1);
        assert_eq!(wrong(&["[sig] d".into()], &gaps, &BTreeMap::new()), ["[sig] d: there is no such spec"]);
    }

    #[test]
    fn reports_are_read() {
        let spec = |leaf: &str, state: &str, attempts: u32| {
            json!({"ContainerHierarchyTexts": ["[sig]", "Quota"], "LeafNodeText": leaf, "LeafNodeType": "It",
                "State": state, "NumAttempts": attempts, "Failure": {"Message": "timed out"}})
        };
        let report = json!([{"SpecReports": [spec("a", "passed", 1), spec("b", "failed", 1), spec("c", "skipped", 0)]}]);
        let read = results(&report);
        assert_eq!(read["[sig] Quota a"], None);
        assert_eq!(read["[sig] Quota b"].as_deref(), Some("failed: timed out"));
        assert_eq!(read.len(), 2);
    }
}
