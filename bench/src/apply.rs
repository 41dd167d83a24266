//! What it costs to write an object with `apply!`, with `json!` and with full types: time, size and compile time.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::args::Library;
use crate::build_cost::{build, kube_dependency, write};

const MAIN: &str = include_str!("../apply/main.rs");
const WAYS: [(&str, &str); 3] = [
    ("`apply!`", include_str!("../apply/apply.rs")),
    ("`json!`", include_str!("../apply/json.rs")),
    ("full types", include_str!("../apply/types.rs")),
];

/// Copies of the three objects in the larger program.
const COPIES: usize = 50;

/// Builds and runs the programs, and prints a table.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    write_workspace(root)?;
    println!("| a Deployment, a Service and an autoscaler | `apply!` | `json!` | full types |");
    println!("|---|---|---|---|");
    let all = (0..WAYS.len()).map(|way| measure(root, way)).collect::<anyhow::Result<Vec<_>>>()?;
    for (metric, title) in METRICS.iter().enumerate() {
        let values = all.iter().map(|way| format!(" {:.2} |", way[metric])).collect::<String>();
        println!("| {title} |{values}");
    }
    Ok(())
}

const METRICS: [&str; 5] = [
    "lines of code",
    "µs for a Deployment, as bytes",
    "KiB of the stripped program with one copy",
    "KiB that a further copy adds to it",
    "ms CPU time that rustc takes for a further copy",
];

fn measure(root: &Path, way: usize) -> anyhow::Result<[f64; METRICS.len()]> {
    let (_, text) = WAYS[way];
    let package = format!("way{way}");
    let size = |copies: usize| -> anyhow::Result<(f64, f64)> {
        write_program(root, way, copies)?;
        let time = build(root, &package)?;
        Ok((time, std::fs::metadata(root.join("target/release").join(&package))?.len() as f64 / 1024.0))
    };
    size(1)?; // with its dependencies
    let (many_time, many) = size(COPIES)?;
    let (one_time, one) = size(1)?;
    let further = (COPIES - 1) as f64;
    let output = Command::new(root.join("target/release").join(&package)).output()?;
    ensure!(output.status.success(), "{package}: {}", String::from_utf8_lossy(&output.stderr));
    let micros = String::from_utf8(output.stdout)?.trim().parse().context("µs of a program")?;
    let code = text.lines().filter(|line| !line.trim().is_empty()).count() as f64;
    Ok([code, micros, one, (many - one) / further, (many_time - one_time) / further])
}

fn write_workspace(root: &Path) -> anyhow::Result<()> {
    let kube = kube_dependency(Library::Workspace)?;
    let members: Vec<_> = (0..WAYS.len()).map(|way| format!("way{way}")).collect();
    let workspace =
        format!("[workspace]\nmembers = {members:?}\nresolver = \"3\"\n\n[profile.release]\nstrip = true\n");
    write(root, "Cargo.toml", &workspace)?;
    for (way, member) in members.iter().enumerate() {
        let manifest = format!(
            "[package]\nname = \"{member}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
             kube = {{ {kube}, default-features = false, features = [\"derive\"] }}\n\
             k8s-openapi = {{ version = \"0.29\", features = [\"latest\"] }}\nserde = \"1\"\nserde_json = \"1\"\n"
        );
        write(root, &format!("{member}/Cargo.toml"), &manifest)?;
        write_program(root, way, 1)?;
    }
    Ok(())
}

fn write_program(root: &Path, way: usize, copies: usize) -> anyhow::Result<()> {
    let mut main = MAIN.to_owned();
    let mut calls = String::new();
    for copy in 0..copies {
        write!(main, "mod copy_{copy};\n")?;
        write!(
            calls,
            "    total += bytes(&copy_{copy}::deployment(web)) + bytes(&copy_{copy}::service(web)) + \
             bytes(&copy_{copy}::autoscaler(web));\n"
        )?;
        // Equal functions would be merged into one.
        let text = WAYS[way].1.replace("registry.example.com", &format!("registry{copy}.example.com"));
        let text = text
            .replace("RUST_LOG", &format!("RUST_LOG_{copy}"))
            .replace("\"http\"", &format!("\"http{copy}\""));
        write(root, &format!("way{way}/src/copy_{copy}.rs"), &text)?;
    }
    write!(main, "\nfn copies(web: &Web) -> usize {{\n    let mut total = 0;\n{calls}    total\n}}\n")?;
    write(root, &format!("way{way}/src/main.rs"), &main)
}
