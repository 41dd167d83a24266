//! The jobs `msrv` and `semver`: the oldest compiler that builds the crates, and changes of their public API since a commit.

use anyhow::{Context as _, Result, bail};

use crate::context::Context;
use crate::job::no_arguments;
use crate::skip::skip;
use crate::tools;

/// In every run, `clippy` rejects newer functions of std (clippy.toml), and `facts` dependencies that need a newer Rust.
pub(crate) fn msrv(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let rust = workspace_package(cx, "rust-version")?;
    let cargo = |args: &str| cx.command("rustup").args(["run", &rust, "cargo"]).args(args.split(' '));
    if !cargo("--version").succeeds() {
        return skip(format!("no Rust {rust} (rustup toolchain install {rust})"));
    }
    let target = cx.target.join("msrv");
    let features = "derive,runtime,jsonpatch,admission,cel,ws,gzip,metrics,kubelet-debug,proxy,oidc,oauth";
    for what in ["--workspace".to_owned(), format!("-p kube --features {features}")] {
        cargo(&format!("check --locked {what}")).env("CARGO_TARGET_DIR", &target).run()?;
    }
    Ok(())
}

/// What all crates of the workspace have in common, such as `version`.
pub(super) fn workspace_package(cx: &Context, key: &str) -> Result<String> {
    let manifest: toml::Table = cx.read("Cargo.toml")?.parse()?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let value = package.and_then(|package| package.get(key)).and_then(toml::Value::as_str);
    Ok(value.with_context(|| format!("Cargo.toml: the workspace has no {key}"))?.to_owned())
}

/// Since a commit, `HEAD~1` by default; crates that it does not have are left out. The dependencies are those of Cargo.lock in both states.
pub(crate) fn semver(cx: &Context, args: &[String]) -> Result<()> {
    let baseline = match args {
        [] => "HEAD~1",
        [commit] => commit,
        _ => bail!("expected one commit"),
    };
    let path = tools::cargo_subcommand(cx, "semver-checks")?;
    let mut check = cx.cargo("semver-checks --all-features --baseline-rev").arg(baseline).env("PATH", path);
    for package in cx.metadata(false)?.packages {
        // Macros have no items that the tool could compare.
        let is_macro = package.targets.iter().any(cargo_metadata::Target::is_proc_macro);
        if is_macro || package.publish.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        let manifest = package.manifest_path.strip_prefix(cx.root.to_string_lossy().as_ref())?;
        let exists =
            cx.command("git").args(["cat-file", "-e"]).arg(format!("{baseline}:{manifest}")).succeeds();
        if exists {
            check = check.args(["--package", package.name.as_str()]);
        } else {
            println!("{} is new since {baseline}, or was elsewhere", package.name);
        }
    }
    check.run()
}
