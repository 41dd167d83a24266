//! One operator for many clusters: a controller of ConfigMaps in each, on this workspace, on kube 5.0.0 (written by hand) and on Go's
//! multicluster-runtime, on servers of one process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::args::Library;
use crate::build_cost::{build_program, kube_dependency};
use crate::hello::{self, Running};
use crate::measure::cpu_time_of;

const MEMBERS: usize = 100;
/// In each cluster, of 2 KB.
const OBJECTS: usize = 1_000;
/// After the last reconcile, before memory is read.
const CALM: Duration = Duration::from_secs(3);
const METRICS: [&str; 5] = [
    "MiB RSS with one cluster of one object",
    "KiB RSS for each further such cluster",
    "ms from the start until 100 clusters of 1 000 objects are reconciled",
    "ms of CPU time for it",
    "MiB RSS after that",
];

/// Builds and measures the programs in alternating rounds, and prints a table of medians.
pub(crate) fn run(rounds: usize) -> anyhow::Result<()> {
    let folder = std::env::current_exe()?.with_file_name("clusters-programs");
    let (server, programs) = programs(&folder)?;
    let mut results = vec![vec![Vec::new(); METRICS.len()]; programs.len()];
    for round in 0..rounds {
        let mut one = Vec::new();
        for members in [1, MEMBERS] {
            let servers = Servers::start(&server, members, 1)?;
            for (program, (_, path)) in programs.iter().enumerate() {
                let running = reconciled(path, members, &servers)?;
                let rss = running.rss()?;
                if members == 1 {
                    one.push(rss);
                    results[program][0].push(rss);
                } else {
                    results[program][1].push((rss - one[program]) * 1024.0 / (members - 1) as f64);
                }
            }
        }
        let servers = Servers::start(&server, MEMBERS, OBJECTS)?;
        for turn in 0..programs.len() {
            let program = (turn + round) % programs.len();
            let mut running = Running::start(&programs[program].1, MEMBERS * OBJECTS, &servers.kubeconfig)?;
            let (all, cpu) = (running.wait_for("all")?, cpu_time_of(running.id())?);
            sleep(CALM);
            for (metric, value) in [(2, all), (3, cpu), (4, running.rss()?)] {
                results[program][metric].push(value);
            }
        }
    }
    let names: Vec<_> = programs.iter().map(|(name, _)| *name).collect();
    hello::print_table("many clusters", &METRICS, &names, &results);
    Ok(())
}

/// A program that has reconciled the object of each cluster.
fn reconciled(program: &Path, members: usize, servers: &Servers) -> anyhow::Result<Running> {
    let mut running = Running::start(program, members, &servers.kubeconfig)?;
    running.wait_for("all")?;
    sleep(CALM);
    Ok(running)
}

/// The servers, as a process. It ends with this value.
struct Servers {
    process: Child,
    kubeconfig: PathBuf,
    _folder: tempfile::TempDir,
}

impl Servers {
    fn start(program: &Path, members: usize, objects: usize) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let mut process = Command::new(program)
            .args([members.to_string(), objects.to_string()])
            .arg(&kubeconfig)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let mut lines = BufReader::new(process.stdout.take().context("the servers have no output")?).lines();
        let servers = Self { process, kubeconfig, _folder: folder };
        let line = lines.next().context("the servers ended before they were ready")??;
        ensure!(line == "ready", "expected ready, got {line:?}");
        Ok(servers)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // Errors mean that the process has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

type Programs = Vec<(&'static str, PathBuf)>;

/// The program of the servers, and those of all libraries. That of multicluster-runtime is left out, with the reason, where it cannot be
/// built.
fn programs(folder: &Path) -> anyhow::Result<(PathBuf, Programs)> {
    eprintln!("building the programs in {}", folder.display());
    let build = |name: &str, dependencies: &str, program: &str| -> anyhow::Result<PathBuf> {
        let root = folder.join(name);
        let manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[profile.release]\nstrip = true\n\n\
             [dependencies]\ntokio = {{ version = \"1\", features = [\"full\"] }}\n\
             k8s-openapi = {{ version = \"0.29\", features = [\"latest\"] }}\nfutures = \"0.3\"\n{dependencies}"
        );
        build_program(&root, &manifest, program)?;
        Ok(root.join("target/release").join(name))
    };
    let kube = |library, features: &str| -> anyhow::Result<String> {
        Ok(format!("kube = {{ {}, features = [{features}] }}\n", kube_dependency(library)?))
    };
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testserver/server").canonicalize()?;
    let server = format!(
        "fastrand = \"2\"\nserde_json = \"1\"\nkube-testserver = {{ path = {:?} }}\n",
        server.display().to_string()
    );
    let server = build("servers", &server, include_str!("../clusters/server/main.rs"))?;
    let ours = kube(Library::Workspace, r#""operator", "compact-cache""#)?;
    let theirs = kube(Library::Baseline, r#""runtime""#)?;
    let mut programs = vec![
        ("this workspace", build("clusters", &ours, include_str!("../clusters/rust/manager.rs"))?),
        ("kube 5.0.0", build("clusters-baseline", &theirs, include_str!("../clusters/rust/baseline.rs"))?),
    ];
    match hello::go("clusters/go", &folder.join("clusters-go")) {
        Ok(program) => programs.push(("multicluster-runtime", program)),
        Err(error) => eprintln!("the column of multicluster-runtime is skipped: {error:#}"),
    }
    Ok((server, programs))
}
