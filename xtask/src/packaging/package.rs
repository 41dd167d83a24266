//! The job `package`: every crate packs and builds from its packed files, and its documentation builds as on docs.rs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cargo_metadata::Package;

use crate::context::{Context, scratch};
use crate::job::no_arguments;

pub(crate) fn package(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let packages = cx.metadata(false)?.packages;
    let (private, published): (Vec<_>, Vec<_>) = packages.iter().partition(|package| is_private(package));
    forget_unpacked(cx)?;
    // --allow-dirty: this job checks the working tree, also before a commit.
    let pack = cx.cargo("package --quiet --workspace --locked --allow-dirty");
    pack.args(private.iter().flat_map(|package| ["--exclude", package.name.as_str()])).run()?;
    println!("packed: {} crates, each built from its packed files", published.len());

    // docs.rs has no .cargo/config.toml.
    let copy = scratch()?;
    let skipped = ["./target", "./.git", "./.cargo", "./bench/target", "./fuzz/target"];
    let excludes: String = skipped.iter().map(|path| format!("--exclude {path} ")).collect();
    cx.command("sh")
        .args(["-c", &format!("tar {excludes} -cf - . | tar -C \"$COPY\" -xf -")])
        .env("COPY", copy.path())
        .run()?;
    for package in published {
        document(cx, package, copy.path()).with_context(|| package.name.to_string())?;
    }
    Ok(())
}

fn is_private(package: &Package) -> bool {
    package.publish.as_ref().is_some_and(Vec::is_empty)
}

/// With the features and arguments of `[package.metadata.docs.rs]`.
fn document(cx: &Context, package: &Package, copy: &Path) -> Result<()> {
    let settings = &package.metadata["docs"]["rs"];
    let texts = |name: &str| -> Vec<String> {
        let values = settings[name].as_array().into_iter().flatten();
        values.filter_map(|value| value.as_str().map(str::to_owned)).collect()
    };
    let features = texts("features").join(",");
    let rustdoc = cx.cargo("rustdoc --quiet --locked --lib -p").arg(package.name.as_str());
    let rustdoc = if features.is_empty() { rustdoc } else { rustdoc.args(["--features", &features]) };
    let rustdoc = rustdoc.args(texts("cargo-args")).env("RUSTDOCFLAGS", "-D warnings");
    rustdoc.env("CARGO_TARGET_DIR", &cx.target).dir(copy).run()
}

/// Cargo verifies the crates against each other in a temporary registry, whose packages it takes to be unchangeable: what an earlier run
/// has unpacked and built of the same version is removed.
fn forget_unpacked(cx: &Context) -> Result<()> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home =
        home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).context("no CARGO_HOME")?;
    let registry = home.join("registry/src");
    for folder in entries(&registry) {
        if name(&folder).starts_with('-') {
            for package in entries(&folder).into_iter().filter(|package| is_ours(package)) {
                std::fs::remove_dir_all(package)?;
            }
        }
    }
    // Dependency files of what was built there.
    let unpacked = format!("{}/-", registry.display());
    let debug = cx.target.join("debug");
    for file in entries(&debug.join("deps")).into_iter().filter(|file| is_ours(file)) {
        let is_list = file.extension().is_some_and(|extension| extension == "d");
        if !is_list || !std::fs::read_to_string(&file)?.contains(&unpacked) {
            continue;
        }
        let Some((_, hash)) =
            name(&file).trim_end_matches(".d").rsplit_once('-').map(|(a, b)| (a.to_owned(), b.to_owned()))
        else {
            continue;
        };
        let fingerprints = entries(&debug.join(".fingerprint")).into_iter();
        for built in fingerprints.filter(|built| is_ours(built) && name(built).ends_with(&hash)) {
            std::fs::remove_dir_all(built)?;
        }
    }
    Ok(())
}

/// Whether the file is of a crate of this workspace, by its name.
fn is_ours(path: &Path) -> bool {
    let name = name(path);
    ["kube", "cargo-kube", "cargo_kube"].iter().any(|prefix| name.starts_with(prefix))
}

/// The paths in a folder; none where there is no such folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
