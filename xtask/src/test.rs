//! Jobs that run tests of this workspace on this machine.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::command::{Command, Output};
use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::skip::skip;
use crate::{paths, tools};

/// Compiles what the job `test` runs, and the programs of other jobs, which do not wait for the tests.
pub(crate) fn build(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    cx.cargo(&format!("test --no-run {}", cx.workspace())).run()?;
    // Nothing is left to compile, but what no test needs has no name yet.
    cx.cargo(&format!("build --quiet --locked {} --bins --examples", cx.workspace())).run()
}

/// The README's test command, with the tests of OpenSSL where its headers are. No cluster is touched: `KUBECONFIG` is hidden from the
/// tests.
pub(crate) fn test(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    if !cx.has_openssl() {
        println!("no OpenSSL headers (libssl-dev) or no pkg-config: without the tests of OpenSSL");
    }
    end_to_end(cx.cargo(&format!("test {}", cx.workspace())).env_remove("KUBECONFIG"))?;
    // Any crate of a program may turn this on, and then numbers must keep their digits. Features of the build, so a build of its own.
    let features = "--features serde_json/arbitrary_precision";
    cx.cargo(&format!("test -p kube-client {} --lib {features} decode::", paths::SHARED_BUILD)).run()
}

/// Runs a command that runs the end-to-end suite, then lists the scenarios that were skipped: Rust's test runner counts them as passed.
pub(crate) fn end_to_end(command: Command) -> Result<()> {
    let (result, skipped) = listing_skipped(command, Command::run)?;
    result?;
    print!("{skipped}");
    Ok(())
}

/// The same with the outputs of the command, and the list of skipped scenarios as text.
pub(crate) fn end_to_end_output(command: Command) -> Result<(Output, String)> {
    let (output, skipped) = listing_skipped(command, Command::output)?;
    Ok((output?, skipped))
}

fn listing_skipped<T>(command: Command, run: impl FnOnce(Command) -> T) -> Result<(T, String)> {
    let folder = scratch()?;
    let report = folder.path().join("skipped");
    std::fs::write(&report, "")?;
    let result = run(command.env("KUBE_E2E_SKIPPED", &report));
    let mut skipped: Vec<_> = std::fs::read_to_string(&report)?.lines().map(str::to_owned).collect();
    skipped.sort();
    skipped.dedup();
    let mut text = format!("\nend-to-end scenarios skipped but counted as passed: {}\n", skipped.len());
    skipped.iter().for_each(|scenario| text += &format!("  {scenario}\n"));
    Ok((result, text))
}

pub(crate) fn quickstart(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let program = cx.build("--example", "quickstart")?;
    let started = Instant::now();
    cx.command(&program).limit(Duration::from_secs(20)).run()?;
    println!("succeeded after {} ms", started.elapsed().as_millis());
    let unreachable = cx.command(&program).arg("--cluster").env("KUBECONFIG", "/no/such/kubeconfig");
    let output = unreachable.limit(Duration::from_secs(60)).errors()?;
    println!("without a cluster: exit code {}: {}", output.code, output.text());
    let reported = output.code == 1 && output.text().lines().count() == 1;
    ensure!(reported, "an unreachable cluster has to be reported in one line with exit code 1");
    Ok(())
}

/// The README's Python example: a fixture that starts the standalone test server, and a test with the PyPI client.
pub(crate) fn python(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let python = tools::python_client(cx)?;
    let server = cx.build("--bin", "kube-testserver")?;
    let test = cx.command(python).args(["-m", "unittest", "discover", "-v", paths::PYTHON_EXAMPLE]);
    test.env("KUBE_TESTSERVER", server)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .limit(Duration::from_secs(120))
        .run()
}

/// Two replicas of the example operator, of which one is killed every 20 s.
pub(crate) fn soak(cx: &Context, args: &[String]) -> Result<()> {
    if !std::path::Path::new("/proc/self/status").exists() {
        return skip("memory is read from /proc");
    }
    let minutes = args.first().map_or("10", String::as_str);
    minutes.parse::<f64>().with_context(|| format!("{minutes} is no number of minutes"))?;
    let operator = cx.build("--bin", "operator")?;
    cx.command(cx.build("--example", "soak")?).arg(operator).arg(minutes).run()
}
