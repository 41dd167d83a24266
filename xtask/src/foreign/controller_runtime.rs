//! The suite `controller-runtime`: packages of a Go module, each of which has a number of specs that pass.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::suite::{Case, Seen, Stage, text};
use crate::paths;
use crate::pattern::regex;

const MODULE: &str = "sigs.k8s.io/controller-runtime";
/// For one package; the longest takes five minutes on two cores.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// The named packages, or all: each is compiled, and run in its folder.
pub(super) fn cases<'a>(stage: &Stage<'a>) -> Result<Vec<Case<'a>>> {
    let go = || stage.cx.command("go").dir(stage.cx.path(paths::CONTROLLER_RUNTIME));
    let source = PathBuf::from(go().args(["list", "-m", "-f", "{{.Dir}}", MODULE]).read()?);
    let packages = packages(&stage.cx.read(format!("{}/suites.txt", paths::CONTROLLER_RUNTIME))?)?;
    for name in stage.args {
        ensure!(packages.iter().any(|package| package.name == *name), "no suite {name} in suites.txt");
    }
    let chosen = packages.into_iter().filter(|one| stage.args.is_empty() || stage.args.contains(&one.name));
    let case = |Package { name, passing, server }| {
        let test = stage.work.join(format!("{}.test", name.replace('/', "-")));
        let compile = go().args(["test", "-c", "-o"]).arg(&test).arg(format!("{MODULE}/pkg/{name}"));
        let run =
            stage.cx.command(&test).arg("-ginkgo.no-color").dir(source.join("pkg").join(&name)).limit(LIMIT);
        let seen: Seen<'_> = Box::new(move |output| check(&output.text(), passing));
        Case { name: name.replace('/', "-"), server, steps: vec![(compile, text("")), (run, seen)] }
    };
    Ok(chosen.map(case).collect())
}

/// A line of the list: a package of controller-runtime, how many of its specs pass, and the arguments of the server, or `assets`.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    name: String,
    passing: u32,
    server: Option<String>,
}

fn packages(list: &str) -> Result<Vec<Package>> {
    let line = regex(r"^(\S+) (\d+)(?: (.*))?$");
    let package = |text: &str| {
        let parts = line.captures(text).with_context(|| format!("not a suite and a number: {text}"))?;
        let server = parts.get(3).map_or("", |server| server.as_str());
        let server = (server != "assets").then(|| server.to_owned());
        Ok(Package { name: parts[1].into(), passing: parts[2].parse()?, server })
    };
    list.lines().filter(|line| !line.starts_with('#')).map(package).collect()
}

fn check(output: &str, passing: u32) -> Result<()> {
    let passed = passed(output).with_context(|| format!("did not end: {output}"))?;
    println!("{passed} specs passed, {passing} expected");
    let failed = output.lines().filter(|line| line.trim_start().starts_with("[FAIL]"));
    ensure!(
        passed == passing,
        "other specs passed than expected:\n{}",
        failed.collect::<Vec<_>>().join("\n")
    );
    Ok(())
}

/// How many specs passed, by the last line of a run.
fn passed(output: &str) -> Option<u32> {
    let counts = regex(r"-- (\d+) Passed \|");
    counts.captures_iter(output).last()?[1].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read() {
        let text =
            "Ran 276 of 276 Specs in 1 seconds\nFAIL! -- 274 Passed | 2 Failed | 0 Pending | 0 Skipped\n";
        assert_eq!(passed(text), Some(274));
        assert_eq!(passed("panic: "), None);
    }

    #[test]
    fn the_list_is_read() {
        let read = packages("# about\ncache 276 --tls --rbac\n").unwrap();
        assert_eq!(
            read,
            [Package { name: "cache".into(), passing: 276, server: Some("--tls --rbac".into()) }]
        );
        assert_eq!(packages("envtest 28 assets").unwrap()[0].server, None);
        assert!(packages("cache").is_err());
    }
}
