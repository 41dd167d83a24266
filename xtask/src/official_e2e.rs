//! The job `official-e2e`: end-to-end tests of Kubernetes that pass on a genuine cluster pass on the embedded server, except for known gaps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::Value;

use crate::context::{Context, scratch};
use crate::genuine;
use crate::kubectl::Server;
use crate::paths;

/// Every namespace needs its service account and a CA, as on a cluster.
const ARGS: [&str; 2] = ["--service-accounts", "--tls"];
/// For all specs of the lists; a run takes half an hour on two cores.
const LIMIT: Duration = Duration::from_secs(120 * 60);

/// Runs the specs of all lists whose names contain one of the arguments, or all: `sig-auth` is part of the names of its specs.
pub(crate) fn official_e2e(cx: &Context, args: &[String]) -> Result<()> {
    let realapi = genuine::program(cx)?;
    let (lists, gaps) = (lists(&cx.path(paths::OFFICIAL_E2E))?, cx.read(paths::OFFICIAL_E2E_GAPS)?);
    let gaps = gaps_of(&gaps)?;
    if let Some(name) = gaps.keys().find(|name| !lists.lines().any(|line| line == *name)) {
        bail!("{name} is in {}, but in no list", paths::OFFICIAL_E2E_GAPS);
    }
    let wanted = wanted(&lists, args);
    ensure!(!wanted.is_empty(), "no spec of {} contains {}", paths::OFFICIAL_E2E, args.join(" or "));
    let program = cx.build("--bin", "kube-testserver")?;
    let work = scratch()?;
    let server = Server::start(cx, &program, work.path(), "e2e", &ARGS)?;
    let report = work.path().join("report.json");
    let run = cx.command(realapi).arg("e2e").arg(&server.kubeconfig).arg(work.path()).arg(focus(&wanted));
    // Specs of sig-cli run kubectl.
    let run = run.arg(flag("--kubectl-path", &genuine::kubectl(cx)?));
    let run = run.arg(flag("--ginkgo.json-report", &report)).arg("--ginkgo.timeout=115m").limit(LIMIT);
    let output = run.output()?.text();
    let text = std::fs::read_to_string(&report).with_context(|| format!("no report: {output}"))?;
    let wrong = wrong(&wanted, &gaps, &results(&serde_json::from_str(&text)?));
    let known = wanted.iter().filter(|name| gaps.contains_key(**name)).count();
    println!("{} specs, {known} of them in {}", wanted.len(), paths::OFFICIAL_E2E_GAPS);
    ensure!(wrong.is_empty(), "{} specs are not as listed:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

fn flag(name: &str, value: &Path) -> String {
    format!("{name}={}", value.display())
}

/// All lists of names, one after the other.
fn lists(folder: &Path) -> Result<String> {
    let files: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    let mut paths: Vec<_> = files.iter().map(std::fs::DirEntry::path).collect();
    paths.sort();
    let is_list =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"sig-"));
    let texts = paths.iter().filter(is_list).map(std::fs::read_to_string);
    Ok(texts.collect::<Result<Vec<_>, _>>()?.concat())
}

fn wanted<'a>(lists: &'a str, parts: &[String]) -> Vec<&'a str> {
    let names = lists.lines().filter(|line| !line.starts_with('#'));
    names.filter(|name| parts.is_empty() || parts.iter().any(|part| name.contains(part))).collect()
}

/// Lines of `name: reason`, by name; `#` starts a comment. Names contain colons, and end with a bracket.
fn gaps_of(text: &str) -> Result<BTreeMap<String, &str>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parts = lines.map(|line| line.split_once("]: ").ok_or(line));
    let gaps = parts.map(|parts| parts.map(|(name, reason)| (format!("{name}]"), reason)));
    gaps.collect::<Result<_, _>>().map_err(|line| anyhow!("{line}: expected `name: reason`"))
}

/// What differs from the lists: specs that fail, gaps that pass, and names that no spec has.
fn wrong(
    wanted: &[&str],
    gaps: &BTreeMap<String, &str>,
    results: &BTreeMap<String, Option<String>>,
) -> Vec<String> {
    let problem = |name: &&str| match (results.get(*name), gaps.contains_key(*name)) {
        (None, _) => Some(format!("{name}: there is no such spec")),
        (Some(None), true) => Some(format!("{name} passes: take it off {}", paths::OFFICIAL_E2E_GAPS)),
        (Some(Some(why)), false) => Some(format!("{name}: {why}")),
        (Some(None), false) | (Some(Some(_)), true) => None,
    };
    wanted.iter().filter_map(problem).collect()
}

/// A pattern that matches these names and no longer ones.
fn focus(names: &[&str]) -> String {
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
    fn names_are_chosen_by_their_parts() {
        let list = "# about\n[sig] Watchers a\n[sig] Quota b\n[sig] Quota c\n";
        assert_eq!(wanted(list, &[]).len(), 3);
        assert_eq!(wanted(list, &["Quota".into()]), ["[sig] Quota b", "[sig] Quota c"]);
        assert_eq!(focus(&wanted(list, &["a".into(), "c".into()])).matches('|').count(), 2);
        assert_eq!(focus(&["[sig] a."]), r"(\[sig\] a\.)$");
    }

    #[test]
    fn a_gap_that_passes_and_a_spec_that_fails_are_wrong() {
        let gaps = gaps_of("# about\n[sig] a: b [Slow]: it waits: long\n").unwrap();
        assert_eq!(gaps, BTreeMap::from([("[sig] a: b [Slow]".to_owned(), "it waits: long")]));
        gaps_of("[sig] a [Slow]").unwrap_err();
        let judged = |gap: Option<&str>, other: Option<&str>| {
            let results = [("[sig] a: b [Slow]", gap), ("[sig] c", other)];
            let results = results.map(|(name, why)| (name.to_owned(), why.map(str::to_owned)));
            wrong(&["[sig] a: b [Slow]", "[sig] c"], &gaps, &results.into())
        };
        assert_eq!(judged(Some("failed"), None), [""; 0]);
        assert_eq!(judged(Some("failed"), Some("failed: why")), ["[sig] c: failed: why"]);
        assert_eq!(judged(None, None).len(), 1);
        assert_eq!(wrong(&["[sig] d"], &gaps, &BTreeMap::new()), ["[sig] d: there is no such spec"]);
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
