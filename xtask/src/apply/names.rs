//! The job `apply-names`: `apply!` finds the names of all fields with every version of k8s-openapi, in optimized programs, and under Miri,
//! which knows what may be done with addresses.

use anyhow::{Context as _, Result, ensure};

use crate::context::Context;
use crate::job::choices;

const RUNS: [&str; 3] = ["versions", "release", "miri"];

pub(crate) fn apply_names(cx: &Context, args: &[String]) -> Result<()> {
    for run in choices(args, &RUNS, &RUNS)? {
        println!("--- {run}");
        match run {
            "versions" => versions(cx)?,
            "release" => {
                cx.cargo("test --release -p every-field").run()?;
                cx.cargo("test --release -p kube-derive --all-features --test it apply").run()?;
            }
            _ => miri(cx)?,
        }
    }
    Ok(())
}

fn versions(cx: &Context) -> Result<()> {
    let metadata = cx.metadata(true)?;
    let package = metadata.packages.iter().find(|package| package.name.as_str() == "k8s-openapi");
    let package = package.context("the workspace does not use k8s-openapi")?;
    let mut versions: Vec<_> =
        package.features.keys().filter_map(|feature| feature.strip_prefix("v1_")).collect();
    versions.sort_unstable();
    ensure!(versions.len() > 1, "k8s-openapi has no features of versions");
    for version in versions {
        println!("--- Kubernetes 1.{version}");
        cx.cargo("test -p every-field").env("K8S_OPENAPI_ENABLED_VERSION", format!("1.{version}")).run()?;
    }
    Ok(())
}

fn miri(cx: &Context) -> Result<()> {
    if !cx.cargo("+nightly miri --version").succeeds() {
        println!(
            "left out: Miri is not installed (`rustup component add miri rust-src --toolchain nightly`)"
        );
        return Ok(());
    }
    let target = cx.target.join("miri");
    cx.cargo("+nightly miri test -p kube-derive --test it apply").env("CARGO_TARGET_DIR", target).run()
}
