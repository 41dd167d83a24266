//! Builds the test of the project and runs it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::cli::output::print;
use crate::cli::program::{Program, ProgramArgs};

/// Variables through which a program finds a cluster. An operator that ignores the client of the test must reach none.
const CLUSTER: [&str; 4] =
    ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "USERPROFILE"];
/// Of the threads of tests, in bytes. A program has 8 MiB on its main thread, which operators of the dev profile may need; a test has 2.
const STACK: (&str, &str) = ("RUST_MIN_STACK", "16777216");

/// What is tried, and how.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// Print the plans
    #[arg(long)]
    list: bool,

    /// Try this plan only, as a report prints it
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    plan: Option<String>,

    /// Try these families of faults, separated by commas
    #[arg(long, value_name = "FAMILIES", value_parser = NonEmptyStringValueParser::new())]
    families: Option<String>,

    /// The most faults of a plan, 1 or 2: a second one comes in what the operator does because of the first
    #[arg(long, value_name = "N", conflicts_with_all = ["list", "plan"], value_parser = clap::value_parser!(u8).range(1..=2))]
    depth: Option<u8>,

    /// Share the plans between N processes: as many as there are processors, by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,

    /// Stop after this time, such as 60s or 5m
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    budget: Option<u64>,

    /// Print the report as JSON: an object with a report for each test
    #[arg(long)]
    json: bool,

    /// The test target
    #[arg(long, value_name = "NAME", default_value = "verify")]
    test: String,

    #[command(flatten)]
    program: ProgramArgs,
}

/// `60s`, `5m`, `90`
fn seconds(text: &str) -> Result<u64, String> {
    let (number, unit) =
        text.find(|letter: char| !letter.is_ascii_digit()).map_or((text, "s"), |at| text.split_at(at));
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => 0,
    };
    let seconds =
        number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).filter(|time| *time > 0);
    seconds.ok_or_else(|| "expected a time such as 60s, 5m or 1h".to_owned())
}

impl Run {
    pub(super) fn run(self) -> Result<ExitCode> {
        let program = self.program.find_test(&self.test)?;
        build(&program, &self.test)?;
        let folder = program.target.join("kube-verify");
        // Reports of an earlier run are not those of this one.
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        let home = folder.join("home");
        fs::create_dir_all(&home).with_context(|| folder.display().to_string())?;
        // By Cargo, which knows the environment of the test.
        let mut command = cargo_test(&program, &self.test);
        for name in CLUSTER {
            command.env_remove(name);
        }
        let output = command
            .arg("--quiet")
            .current_dir(&program.folder)
            .env("HOME", &home)
            .envs(homes_of_cargo())
            .env("KUBE_VERIFY_REPORTS", &folder)
            .env("KUBE_VERIFY_PROGRESS", "1")
            .env("KUBE_VERIFY_ALL", "1")
            .envs(self.variables())
            // Tests run on threads of their names, by which they leave their reports: never on the main thread, as a single one does.
            .args(["--", "--nocapture", "--include-ignored", "--test-threads=2"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .output()
            .context("cargo cannot be run")?;
        let reports = reports(&folder, if self.json { "json" } else { "txt" })?;
        let (printed, is_success) = (String::from_utf8_lossy(&output.stdout), output.status.success());
        if !is_success {
            // Which tests failed; also those without a report, such as the replay of a plan. Why is on standard error.
            eprint!("{printed}");
        }
        let is_cut_off = is_success && is_cut_off(&printed);
        if is_cut_off {
            eprintln!("the test {} ended in the middle, with success: {CUT_OFF}", self.test);
        } else if reports.is_empty() {
            bail!("{}", without_report(&self.test, is_success));
        }
        if self.json {
            let all: BTreeMap<&String, serde_json::Value> = reports
                .iter()
                .map(|(name, text)| (name, serde_json::from_str(text).unwrap_or_default()))
                .collect();
            print(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
        } else {
            print(&reports.into_values().collect::<String>())?;
        }
        Ok(if is_success && !is_cut_off { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The options, as the test reads them.
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let jobs = self.jobs.map_or_else(processors, usize::from);
        let mut variables =
            vec![("KUBE_VERIFY_JOBS", if self.plan.is_some() { 1 } else { jobs }.to_string().into())];
        if std::env::var_os(STACK.0).is_none() {
            variables.push((STACK.0, STACK.1.into()));
        }
        let mut set = |name, value: Option<String>| variables.extend(value.map(|value| (name, value.into())));
        set("KUBE_VERIFY_LIST", self.list.then(|| "1".to_owned()));
        set("KUBE_VERIFY_PLAN", self.plan.clone());
        set("KUBE_VERIFY_FAMILIES", self.families.clone());
        set("KUBE_VERIFY_DEPTH", self.depth.map(|faults| faults.to_string()));
        set("KUBE_VERIFY_BUDGET", self.budget.map(|seconds| seconds.to_string()));
        variables
    }
}

/// `cargo test` for this target.
fn cargo_test(program: &Program, test: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--manifest-path"]).arg(&program.manifest).args(["--test", test]);
    command.args(&program.build_arguments);
    command
}

/// Where Cargo and rustup have their files, which they look for in the home folder.
fn homes_of_cargo() -> impl Iterator<Item = (&'static str, PathBuf)> {
    let home = std::env::home_dir();
    let folders = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];
    let unset = folders.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
    unset.filter_map(move |(name, folder)| Some((name, home.as_ref()?.join(folder))))
}

/// Builds the test target. Cargo's messages go to standard error.
fn build(program: &Program, test: &str) -> Result<()> {
    let mut command = cargo_test(program, test);
    let status = command.arg("--no-run").stdin(Stdio::null()).status().context("cargo cannot be run")?;
    if status.success() {
        return Ok(());
    }
    let file = program.manifest.with_file_name("tests").join(test).with_extension("rs");
    if file.is_file() {
        bail!("the test {test} does not build: see the messages of Cargo above");
    }
    bail!(
        "there is no test target {test}, or it does not build: see the messages of Cargo above. tests/{test}.rs says what the operator \
         is and what its users do, and `cargo kube verify init` writes it: book/src/how-to/verify.md"
    );
}

/// Why a process ends in the middle.
const CUT_OFF: &str = "does the operator end its process, as by `std::process::exit(0)`?";

/// Whether the test has begun and not told its result. One with a harness of its own tells neither.
fn is_cut_off(printed: &str) -> bool {
    let is_begin = |line: &str| line.starts_with("running ") && line.trim_end_matches('s').ends_with(" test");
    printed.lines().any(is_begin) && !printed.lines().any(|line| line.starts_with("test result: "))
}

/// Why there is no report.
fn without_report(test: &str, has_passed: bool) -> String {
    match has_passed {
        true => format!("the test {test} left no report: expected a test that ends with `Verify::run`"),
        false => format!("the test {test} failed before it left a report: see its messages above"),
    }
}

/// What the tests left in the folder, by their names.
fn reports(folder: &Path, extension: &str) -> Result<BTreeMap<String, String>> {
    let mut reports = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            reports.insert(name, fs::read_to_string(&path)?);
        }
    }
    Ok(reports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_without_a_result_was_cut_off() {
        assert!(is_cut_off("\nrunning 2 tests\n.") && !is_cut_off("running 3 workers\n"));
        assert!(!is_cut_off("\nrunning 1 test\n.\ntest result: ok. 1 passed\n"));
    }

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(["60s", "5m", "1h", "90"].map(seconds), [60, 300, 3600, 90].map(Ok));
        for text in ["", "s", "0s", "1d", "-1s", "1.5m", "99999999999999999999s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
