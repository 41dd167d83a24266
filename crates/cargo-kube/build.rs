//! The repository and commit that the program is built from, for `cargo kube new`. Empty where it is not built from a repository.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_CLI").is_none() {
        return;
    }
    // Not a copy of this crate in the repository of another project.
    if git(&["rev-parse", "--show-prefix"]).as_deref() != Some("crates/cargo-kube/") {
        return;
    }
    // It changes with each commit and checkout.
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return };
    let top = git(&["rev-parse", "--show-toplevel"]).unwrap_or_default();
    println!("cargo::rustc-env=CARGO_KUBE_GIT_COMMIT={commit}");
    println!("cargo::rustc-env=CARGO_KUBE_GIT_URL={}", origin().unwrap_or(top));
}

/// The remote repository, if there is one.
fn origin() -> Option<String> {
    let origin = git(&["remote", "get-url", "origin"])?;
    // `cargo install --git` builds in a clone of its own database, which has the address in FETCH_HEAD.
    let database = origin.strip_prefix("file://").filter(|path| path.contains("/git/db/"));
    let Some(database) = database else { return Some(origin) };
    let fetched = std::fs::read_to_string(Path::new(database).join("FETCH_HEAD")).ok()?;
    // COMMIT, tab, tab, then URL or "branch 'NAME' of URL".
    let source = fetched.lines().next()?.rsplit('\t').next()?;
    Some(source.rsplit_once(" of ").map_or(source, |(_, url)| url).to_owned())
}

/// What git prints. None without git, and outside of a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let output = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
