//! What a verification costs: every plan for operators of this workspace, in the profile that their tests have, in one process.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::{Deserializer, Value};

use crate::measure::children_cpu_time;

/// Packages with a test called `verify`.
const OPERATORS: [(&str, &str); 2] =
    [("the quickstart", "kube-examples"), ("the example operator, with its manager", "operator")];

/// Builds and runs the tests, and prints a table.
pub(crate) fn run() -> anyhow::Result<()> {
    println!("| every plan for | plans | s of CPU time | ms of it for a plan | s |\n|---|--:|--:|--:|--:|");
    for (name, package) in OPERATORS {
        let test = build(package)?;
        let (begun, before) = (Instant::now(), children_cpu_time()?);
        let plans = verify(&test).with_context(|| name)?;
        let (cpu, wall) = (children_cpu_time()? - before, begun.elapsed().as_secs_f64());
        println!("| {name} | {plans} | {:.1} | {:.0} | {wall:.1} |", cpu / 1e3, cpu / plans as f64);
    }
    Ok(())
}

/// Builds the test; its program.
fn build(package: &str) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--quiet", "--no-run", "--message-format=json", "--test", "verify", "-p", package]);
    let output = cargo.current_dir(root()).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "{package}: {}", String::from_utf8_lossy(&output.stderr));
    let messages = Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let mut programs = messages.filter_map(|message| Some(message.ok()?["executable"].as_str()?.into()));
    programs.next().with_context(|| format!("{package}: cargo names no program"))
}

/// Tries every plan; how many there were.
fn verify(test: &Path) -> anyhow::Result<u64> {
    let reports = tempfile::tempdir()?;
    let mut command = Command::new(test);
    command.env("KUBE_VERIFY_ALL", "1").env("KUBE_VERIFY_REPORTS", reports.path());
    let output = command.current_dir(root()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let mut plans = 0;
    for entry in fs::read_dir(reports.path())? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("json")) {
            let report: Value = serde_json::from_slice(&fs::read(&path)?)?;
            plans += report["tried"].as_u64().with_context(|| format!("{}: no `tried`", path.display()))?;
        }
    }
    Ok(plans)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
