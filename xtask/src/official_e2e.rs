//! The job `official-e2e`: end-to-end tests of Kubernetes that pass on a genuine cluster pass on the embedded server.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::context::{Context, scratch};
use crate::genuine;
use crate::kubectl::Server;
use crate::paths;

/// Every namespace needs its service account, as on a cluster.
const ARGS: [&str; 1] = ["--service-accounts"];
/// For all specs of the list; a run takes a quarter of an hour on two cores.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Runs the specs of the list whose names contain one of the arguments, or all.
pub(crate) fn official_e2e(cx: &Context, args: &[String]) -> Result<()> {
    let realapi = genuine::program(cx)?;
    let list = cx.read(paths::OFFICIAL_E2E)?;
    let wanted = wanted(&list, args);
    ensure!(!wanted.is_empty(), "no spec of {} contains {}", paths::OFFICIAL_E2E, args.join(" or "));
    let program = cx.build("--bin", "kube-testserver")?;
    let work = scratch()?;
    let server = Server::start(cx, &program, work.path(), "e2e", &ARGS)?;
    let report = work.path().join("report.json");
    let run = cx.command(realapi).arg("e2e").arg(&server.kubeconfig).arg(work.path()).arg(focus(&wanted));
    let run = run.arg(flag("--ginkgo.json-report", &report)).arg("--ginkgo.timeout=55m").limit(LIMIT);
    let output = run.output()?.text();
    let text = std::fs::read_to_string(&report).with_context(|| format!("no report: {output}"))?;
    let results = results(&serde_json::from_str(&text)?);
    let mut failed = 0;
    for name in &wanted {
        match results.get(*name) {
            Some(None) => {}
            Some(Some(why)) => println!("{name}: {why}"),
            None => println!("{name}: there is no such spec"),
        }
        failed += usize::from(results.get(*name) != Some(&None));
    }
    println!("{} of {} specs passed", wanted.len() - failed, wanted.len());
    ensure!(failed == 0, "{failed} specs did not pass");
    Ok(())
}

fn flag(name: &str, value: &Path) -> String {
    format!("{name}={}", value.display())
}

fn wanted<'a>(list: &'a str, parts: &[String]) -> Vec<&'a str> {
    let names = list.lines().filter(|line| !line.starts_with('#'));
    names.filter(|name| parts.is_empty() || parts.iter().any(|part| name.contains(part))).collect()
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
