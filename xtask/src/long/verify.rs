//! The jobs `verify-all`: every plan for the operators of this workspace, and `verify-foreign`: operators that do not know it, with
//! `kube-verify` as their only new dependency.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::{Metadata, MetadataCommand, Node};

use crate::context::{Context, scratch};
use crate::job::no_arguments;

/// One source on two releases of `kube`.
const OURS: &str = "bench/verify";
/// With the compilation of the operator.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Every plan for the quickstart and the operator; their tests try some of each family.
pub(crate) fn verify_all(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    ["kube-examples", "operator"].into_iter().try_for_each(|package| {
        let test = cx.cargo("test --test verify -p").args([package, "--", "--nocapture"]);
        test.env("KUBE_VERIFY_ALL", "1").env("KUBE_VERIFY_JOBS", "2").run()
    })
}

/// Verifies each checkout in a folder that has `tests/verify.rs`; without arguments, the operators of `bench/verify`.
pub(crate) fn verify_foreign(cx: &Context, args: &[String]) -> Result<()> {
    let folder = match args {
        [] => cx.path(OURS),
        [folder] => std::path::absolute(folder)?,
        _ => bail!("expected a folder or nothing, got {}", args.join(" ")),
    };
    // Nothing of the checkouts is changed, and their packages are part of no workspace here.
    let copy = scratch()?;
    cx.command("sh")
        .args(["-c", "tar --exclude target --exclude .git -cf - . | tar -C \"$COPY\" -xf -"])
        .env("COPY", copy.path())
        .dir(&folder)
        .run()?;
    let checkouts = checkouts(copy.path())?;
    ensure!(!checkouts.is_empty(), "{}: expected a folder in it with tests/verify.rs", folder.display());
    let failures: Vec<_> = checkouts.iter().filter_map(|checkout| verify(cx, checkout).err()).collect();
    let failures: Vec<_> = failures.iter().map(|failure| format!("{failure:#}")).collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// Those that have a test, sorted.
fn checkouts(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut checkouts = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    checkouts.retain(|checkout| checkout.join("tests/verify.rs").is_file());
    checkouts.sort();
    Ok(checkouts)
}

/// Adds the dependency and runs the test.
fn verify(cx: &Context, checkout: &Path) -> Result<()> {
    let name = checkout.file_name().unwrap_or_default().display().to_string();
    println!("--- {name}");
    let add = |features: &[&str]| {
        let dependency = cx.command("cargo").args(["add", "--dev", "--quiet"]).args(features).arg("--path");
        dependency.arg(cx.path("testserver/verify")).dir(checkout).run().context(name.clone())
    };
    add(&[])?;
    let metadata = MetadataCommand::new().current_dir(checkout).exec().context(name.clone())?;
    if !has_version(&metadata) {
        add(&["--features", "latest"])?;
    }
    let test = cx.command("cargo").args(["test", "--quiet", "--test", "verify"]);
    // As `cargo kube verify`: a program has 8 MiB on its main thread, the thread of a test 2.
    let test = test.env("RUST_MIN_STACK", "16777216");
    test.env("CARGO_TARGET_DIR", &cx.target).dir(checkout).limit(LIMIT).run().context(name)
}

/// Whether the operator chooses a version for the release of k8s-openapi that the test server is built with: it may have only one.
fn has_version(metadata: &Metadata) -> bool {
    let nodes = || metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let is_named = |node: &Node, name: &str| metadata[&node.id].name.as_str() == name;
    let Some(server) = nodes().find(|node| is_named(node, "kube-testserver")) else { return false };
    nodes()
        .filter(|node| is_named(node, "k8s-openapi") && server.dependencies.contains(&node.id))
        .any(|node| node.features.iter().any(|feature| feature.starts_with("v1_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_checkouts_with_a_test_are_verified() {
        let folder = scratch().unwrap();
        for (name, file) in [("b", "tests/verify.rs"), ("a", "tests/verify.rs"), ("c", "src/main.rs")] {
            let file = folder.path().join(name).join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let expected: Vec<_> = ["a", "b"].iter().map(|name| folder.path().join(name)).collect();
        assert_eq!(checkouts(folder.path()).unwrap(), expected);
    }
}
