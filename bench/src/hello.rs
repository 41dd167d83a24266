//! The hello operator: one controller of ConfigMaps on this workspace, on kube 5.0.0 and on Go's controller-runtime, on a genuine API
//! server.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;

use crate::args::Library;
use crate::build_cost::{build_program, kube_dependency};
use crate::genuine;
use crate::measure::mebibytes;
use crate::realapi::Cluster;
use crate::results::median_of;

const OBJECTS: usize = 10_000;
const DATA_BYTES: usize = 2_048;
const METRICS: [&str; 5] = [
    "MiB RSS when idle",
    "ms from the start to the first reconcile",
    "ms from the start until 10 000 objects are reconciled",
    "MiB RSS after that",
    "MiB of the stripped binary",
];

/// Builds and measures the three programs in alternating rounds, and prints a table of medians.
pub(crate) fn run(rounds: usize) -> anyhow::Result<()> {
    let programs = programs()?;
    let cluster = Cluster::up(&["--bare"])?;
    let mut results = vec![vec![Vec::new(); METRICS.len()]; programs.len()];
    for round in 0..2 * rounds {
        if round == rounds {
            fill(cluster.kubeconfig())?;
        }
        for turn in 0..programs.len() {
            let program = (turn + round) % programs.len(); // alternate the order: a later one may profit from warm caches
            let (_, path) = &programs[program];
            let values = if round < rounds {
                idle(path, cluster.kubeconfig())?
            } else {
                filled(path, cluster.kubeconfig())?
            };
            for (metric, value) in values {
                results[program][metric].push(value);
            }
        }
    }
    for ((_, path), results) in programs.iter().zip(&mut results) {
        results[4].push(std::fs::metadata(path)?.len() as f64 / f64::from(1 << 20));
    }
    let names: Vec<_> = programs.iter().map(|(name, _)| *name).collect();
    print_table("hello operator", &METRICS, &names, &results);
    Ok(())
}

/// Builds the programs of all libraries. That of controller-runtime is left out, with the reason, where it cannot be built.
/// They are kept beside this program, so that the next run builds only what has changed.
pub(crate) fn programs() -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let folder = std::env::current_exe()?.with_file_name("hello-programs");
    eprintln!("building the programs in {}", folder.display());
    let mut programs = vec![
        ("this workspace", rust(&folder, Library::Workspace)?),
        ("kube 5.0.0", rust(&folder, Library::Baseline)?),
    ];
    match go("hello/go", &folder.join("hello-go")) {
        Ok(program) => programs.push(("controller-runtime", program)),
        Err(error) => eprintln!("the column of controller-runtime is skipped: {error:#}"),
    }
    Ok(programs)
}

/// Builds the program of a manager of this workspace, which has what its template has: compressed and streaming lists.
pub(crate) fn manager() -> anyhow::Result<(&'static str, PathBuf)> {
    let root = std::env::current_exe()?.with_file_name("hello-programs").join("manager");
    let program = include_str!("../hello/rust/manager.rs");
    build_program(&root, &manifest(Library::Workspace, "operator")?, program)?;
    Ok(("a manager of this workspace", root.join("target/release/hello")))
}

/// The metrics of a program on a cluster with few objects, by their index in [`METRICS`].
fn idle(program: &Path, kubeconfig: &Path) -> anyhow::Result<[(usize, f64); 2]> {
    let mut running = Running::start(program, usize::MAX >> 1, kubeconfig)?;
    let first = running.wait_for("first")?;
    sleep(Duration::from_secs(3));
    Ok([(1, first), (0, running.rss()?)])
}

/// The metrics of a program on the filled cluster.
fn filled(program: &Path, kubeconfig: &Path) -> anyhow::Result<[(usize, f64); 2]> {
    let mut running = Running::start(program, OBJECTS, kubeconfig)?;
    let all = running.wait_for("all")?;
    sleep(Duration::from_secs(1));
    Ok([(2, all), (3, running.rss()?)])
}

/// A table of medians: a row for each metric, a column for each program.
pub(crate) fn print_table(title: &str, metrics: &[&str], programs: &[&str], results: &[Vec<Vec<f64>>]) {
    println!("| {title} | {} |\n|---|{}", programs.join(" | "), "--:|".repeat(programs.len()));
    for (metric, name) in metrics.iter().enumerate() {
        let values = results.iter().map(|of_program| {
            median_of(of_program[metric].clone()).map_or("not measured".into(), |value| format!("{value:.1}"))
        });
        println!("| {name} | {} |", values.collect::<Vec<_>>().join(" | "));
    }
}

/// A program that runs. It ends with this value.
pub(crate) struct Running {
    process: Child,
    started: Instant,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts a program that counts reconciles up to `expected`.
    pub(crate) fn start(program: &Path, expected: usize, kubeconfig: &Path) -> anyhow::Result<Self> {
        let started = Instant::now();
        let mut process = Command::new(program)
            .arg(expected.to_string())
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let stdout = process.stdout.take().context("the program has no output")?;
        Ok(Self { process, started, lines: BufReader::new(stdout).lines() })
    }

    /// Waits until the program prints `line`. Returns the milliseconds since its start.
    pub(crate) fn wait_for(&mut self, line: &str) -> anyhow::Result<f64> {
        for printed in &mut self.lines {
            if printed? == line {
                return Ok(self.started.elapsed().as_secs_f64() * 1e3);
            }
        }
        anyhow::bail!("the program ended before it printed {line:?}")
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// In MiB.
    pub(crate) fn rss(&self) -> anyhow::Result<f64> {
        mebibytes(&format!("/proc/{}/status", self.process.id()), "VmRSS:")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Errors mean that the program has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Creates the objects of the filled cluster.
fn fill(kubeconfig: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let object = |number| ConfigMap {
        metadata: ObjectMeta { name: Some(format!("map-{number}")), ..<_>::default() },
        data: Some(BTreeMap::from([("text".to_owned(), "x".repeat(DATA_BYTES))])),
        ..<_>::default()
    };
    runtime.block_on(async {
        let client = genuine::client(kubeconfig).await?;
        genuine::create(&client, "default", OBJECTS, object).await
    })
}

/// Builds the program for a Rust library.
fn rust(folder: &Path, library: Library) -> anyhow::Result<PathBuf> {
    let root = folder.join(library.name());
    build_program(&root, &manifest(library, "runtime")?, include_str!("../hello/rust/main.rs"))?;
    Ok(root.join("target/release/hello"))
}

fn manifest(library: Library, feature: &str) -> anyhow::Result<String> {
    Ok(format!(
        "[package]\nname = \"hello\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[profile.release]\nstrip = true\n\n\
         [dependencies]\n\
         kube = {{ {}, features = [{feature:?}] }}\n\
         k8s-openapi = {{ version = \"0.29\", features = [\"latest\"] }}\n\
         futures = \"0.3\"\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n",
        kube_dependency(library)?
    ))
}

/// Builds the program of a folder of this package.
pub(crate) fn go(folder: &str, program: &Path) -> anyhow::Result<PathBuf> {
    let mut command = Command::new("go");
    command.args(["build", "-trimpath", "-ldflags", "-s -w", "-o"]).arg(program).arg(".");
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).env("CGO_ENABLED", "0");
    let output = command.output().context("cannot run go: install Go 1.26 or newer")?;
    ensure!(output.status.success(), "go build failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(program.to_owned())
}
