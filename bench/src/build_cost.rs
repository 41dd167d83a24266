//! What a program that uses the library costs to build.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::args::Library;
use crate::measure::{Metrics, children_cpu_time};

/// Types with a derived CRD in the package `types`.
const TYPES: usize = 40;

/// Builds a controller from nothing, then a package of types twice, with one type and with more, without its dependencies.
pub(crate) fn measure(library: Library) -> anyhow::Result<Metrics> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    write_workspace(root, library)?;
    write_types(root, 1)?;
    let crates = crates(root)?;
    let clean = build(root, "controller")?;
    let others = clean - own_cpu_time(root)?;
    let size = std::fs::metadata(root.join("target/release/controller"))?.len();
    build(root, "types")?;
    write_types(root, TYPES)?;
    let many = build(root, "types")?;
    write_types(root, 1)?;
    let one = build(root, "types")?;
    Ok([
        ("s CPU time of a clean release build".into(), clean / 1e3),
        ("s CPU time of it for the crates of others".into(), others / 1e3),
        ("MiB of the stripped binary".into(), size as f64 / f64::from(1 << 20)),
        ("crates in `cargo tree -e normal`".into(), crates),
        ("ms CPU time per derived type".into(), (many - one) / (TYPES - 1) as f64),
    ]
    .into())
}

fn write_workspace(root: &Path, library: Library) -> anyhow::Result<()> {
    let kube = kube_dependency(library)?;
    let workspace = "[workspace]\nmembers = [\"controller\", \"types\"]\nresolver = \"3\"\n\n[profile.release]\nstrip = true\n";
    let dependencies = format!(
        "[dependencies]\n\
         kube = {{ {kube}, features = [\"runtime\", \"derive\"] }}\n\
         k8s-openapi = {{ version = \"0.29\", features = [\"latest\"] }}\n\
         schemars = \"1\"\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n\
         serde_json = \"1\"\n"
    );
    let manifest = |name: &str, more: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n{dependencies}{more}"
        )
    };
    let more =
        "futures = \"0.3\"\ntokio = { version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }\n";
    write(root, "Cargo.toml", workspace)?;
    write(root, "controller/Cargo.toml", &manifest("controller", more))?;
    write(root, "controller/src/main.rs", CONTROLLER)?;
    write(root, "types/Cargo.toml", &manifest("types", ""))
}

/// Where a manifest finds the library.
pub(crate) fn kube_dependency(library: Library) -> anyhow::Result<String> {
    Ok(match library {
        Library::Workspace => {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/kube").canonicalize()?;
            format!("path = {:?}", path.display().to_string())
        }
        Library::Baseline => "version = \"=5.0.0\"".to_owned(),
    })
}

/// Writes a package with one program to `root` and builds it.
pub(crate) fn build_program(root: &Path, manifest: &str, program: &str) -> anyhow::Result<()> {
    write(root, "Cargo.toml", manifest)?;
    write(root, "src/main.rs", program)?;
    cargo(root, &["build", "--release", "--quiet"]).map(drop)
}

const CONTROLLER: &str = r#"
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client, CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "bench.dev", version = "v1", kind = "Hello", namespaced)]
struct HelloSpec {
    name: String,
}

async fn reconcile(hello: Arc<Hello>, _: Arc<()>) -> Result<Action, Infallible> {
    println!("hello {} from {}", hello.spec.name, hello.name_any());
    Ok(Action::requeue(Duration::from_secs(300)))
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    let hellos = Api::<Hello>::all(Client::try_default().await?);
    Controller::new(hellos, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(()))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
"#;

fn write_types(root: &Path, count: usize) -> anyhow::Result<()> {
    let mut text =
        "use kube::CustomResource;\nuse schemars::JsonSchema;\nuse serde::{Deserialize, Serialize};\n"
            .to_owned();
    for number in 0..count {
        write!(
            text,
            r#"
/// What is wanted.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(group = "bench.dev", version = "v1", kind = "Kind{number}", namespaced, status = "Status{number}", shortname = "k{number}")]
#[serde(rename_all = "camelCase")]
pub struct Spec{number} {{
    /// How many.
    pub replicas: Option<i32>,
    pub image: String,
    pub args: Vec<String>,
    #[serde(default)]
    pub paused: bool,
}}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Status{number} {{
    pub ready: i32,
}}
"#
        )?;
    }
    write(root, "types/src/lib.rs", &text)
}

pub(crate) fn write(root: &Path, file: &str, text: &str) -> anyhow::Result<()> {
    let path = root.join(file);
    std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
    std::fs::write(&path, text).with_context(|| path.display().to_string())
}

/// The CPU time of all processes of a release build of a package in milliseconds.
pub(crate) fn build(root: &Path, package: &str) -> anyhow::Result<f64> {
    let before = children_cpu_time()?;
    cargo(root, &["build", "--release", "--quiet", "--offline", "-p", package])?;
    Ok(children_cpu_time()? - before)
}

/// Set for cargo, which then runs this program instead of rustc: the file for the CPU time of each crate.
pub(crate) const RUSTC_TIMES: &str = "BENCH_RUSTC_TIMES";

/// Runs rustc, the first argument, and adds a line to `times`: the milliseconds of CPU time, and the arguments.
pub(crate) fn run_rustc(times: &Path) -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rustc, rest) = arguments.split_first().context("rustc is missing")?;
    let status = Command::new(rustc).args(rest).status()?;
    let line = format!("{} {}\n", children_cpu_time()?, rest.join(" ").replace('\n', " "));
    OpenOptions::new().append(true).create(true).open(times)?.write_all(line.as_bytes())?;
    std::process::exit(status.code().unwrap_or(1))
}

/// The CPU time of rustc in milliseconds for the crates of the library and the controller.
fn own_cpu_time(root: &Path) -> anyhow::Result<f64> {
    let times = std::fs::read_to_string(root.join(RUSTC_TIMES))?;
    let own = |line: &&str| line.contains("--crate-name kube") || line.contains("--crate-name controller");
    times
        .lines()
        .filter(own)
        .map(|line| Ok(line.split(' ').next().context("an empty line")?.parse::<f64>()?))
        .sum()
}

/// The number of crates that the controller is built from. Downloads them.
fn crates(root: &Path) -> anyhow::Result<f64> {
    cargo(root, &["fetch", "--quiet"])?;
    let tree = cargo(root, &["tree", "-p", "controller", "-e", "normal", "--prefix", "none"])?;
    let mut crates: Vec<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    crates.sort_unstable();
    crates.dedup();
    Ok((crates.len() - 1) as f64) // without the controller itself
}

fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(args).env("CARGO_TARGET_DIR", root.join("target"));
    command.env("RUSTC_WRAPPER", std::env::current_exe()?).env(RUSTC_TIMES, root.join(RUSTC_TIMES));
    for variable in ["RUSTFLAGS", "CARGO_INCREMENTAL", "CARGO_BUILD_RUSTFLAGS"] {
        command.env_remove(variable);
    }
    let output = command.output().context("cargo")?;
    ensure!(
        output.status.success(),
        "cargo {} failed: {}",
        args.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
