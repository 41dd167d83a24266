//! The job `controller-runtime`: the test suites of Go's controller-runtime pass on the embedded server, as on an existing cluster.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::context::{Context, scratch};
use crate::kubebuilder::assets;
use crate::kubectl::Server;
use crate::paths;
use crate::pattern::regex;
use crate::skip::skip;

const PACKAGE: &str = "sigs.k8s.io/controller-runtime";
/// For one suite; the longest takes five minutes on two cores.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Runs the named suites, or all.
pub(crate) fn controller_runtime(cx: &Context, args: &[String]) -> Result<()> {
    if !cx.has("go") {
        return skip("no Go, in which controller-runtime and its tests are written");
    }
    let module = cx.path(paths::CONTROLLER_RUNTIME);
    let go = || cx.command("go").dir(&module);
    if !go().args(["mod", "download"]).succeeds() {
        return skip("the Go modules of controller-runtime cannot be downloaded");
    }
    let source = go().args(["list", "-m", "-f", "{{.Dir}}", PACKAGE]).read()?;
    let list = suites(&cx.read(format!("{}/suites.txt", paths::CONTROLLER_RUNTIME))?)?;
    for name in args {
        ensure!(list.iter().any(|suite| suite.name == *name), "no suite {name} in suites.txt");
    }
    let program = cx.build("--bin", "kube-testserver")?;
    let work = scratch()?;
    let mut different = Vec::new();
    for suite in list.iter().filter(|suite| args.is_empty() || args.contains(&suite.name)) {
        let file = suite.name.replace('/', "-");
        let test = work.path().join(format!("{file}.test"));
        go().args(["test", "-c", "-o"]).arg(&test).arg(format!("{PACKAGE}/pkg/{}", suite.name)).run()?;
        let folder = Path::new(&source).join("pkg").join(&suite.name);
        let run = cx.command(&test).arg("-ginkgo.no-color").dir(folder).limit(LIMIT);
        let output = if suite.flags == [ASSETS] {
            let assets = assets(cx, &work.path().join("assets"))?;
            run.env("KUBEBUILDER_ASSETS", assets).env_remove("USE_EXISTING_CLUSTER").output()?.text()
        } else {
            // Each suite expects an empty cluster.
            let flags: Vec<&str> = suite.flags.iter().map(String::as_str).collect();
            let server = Server::start(cx, &program, work.path(), &file, &flags)?;
            run.env("USE_EXISTING_CLUSTER", "true").env("KUBECONFIG", &server.kubeconfig).output()?.text()
        };
        let passed = passed(&output).with_context(|| format!("{} did not end: {output}", suite.name))?;
        println!("{}: {passed} specs passed, {} expected", suite.name, suite.passing);
        if passed != suite.passing {
            for line in output.lines().filter(|line| line.trim_start().starts_with("[FAIL]")) {
                println!("{line}");
            }
            different.push(suite.name.as_str());
        }
    }
    ensure!(different.is_empty(), "not the expected number of specs passed: {}", different.join(", "));
    Ok(())
}

/// Instead of arguments of the server: the suite starts the programs of `kube-testserver assets` itself.
const ASSETS: &str = "assets";

/// A line of the list: a package of controller-runtime, how many of its specs pass, and arguments of the server.
#[derive(Debug, PartialEq, Eq)]
struct Suite {
    name: String,
    passing: u32,
    flags: Vec<String>,
}

fn suites(list: &str) -> Result<Vec<Suite>> {
    let suite = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let (name, passing) = (words.next(), words.next().and_then(|count| count.parse().ok()));
        let missing = || format!("not a suite and a number: {line}");
        Ok(Suite {
            name: name.with_context(missing)?,
            passing: passing.with_context(missing)?,
            flags: words.collect(),
        })
    };
    list.lines().filter(|line| !line.starts_with('#')).map(suite).collect()
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
        let read = suites("# about\ncache 276 --tls --rbac\n").unwrap();
        let flags = vec!["--tls".to_owned(), "--rbac".to_owned()];
        assert_eq!(read, [Suite { name: "cache".into(), passing: 276, flags }]);
        assert!(suites("cache").is_err());
    }
}
