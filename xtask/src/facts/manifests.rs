//! What pages say about the crates: every dependency has its reason, features, counts and the minimum Rust version are correct, and
//! dependencies between crates have the documented direction.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use cargo_metadata::Metadata;

use super::files::File;
use super::pages;
use crate::context::Context;
use crate::pattern::regex;
use crate::{lint, paths};

/// Crates, and crates that they must not depend on, however far away.
const NEVER: [(&str, &[&str]); 7] = [
    ("kube-core", &["tokio", "hyper"]),
    ("kube-derive", &["kube-core"]),
    ("kube-client", &["kube-runtime", "kube-tools"]),
    ("kube-tools", &["kube-runtime"]),
    ("kube-runtime", &["kube-tools"]),
    ("kube-testserver", &["kube-client", "kube-runtime"]),
    ("kube-serve", &["kube-client", "kube-runtime"]),
];

pub(super) fn check(cx: &Context, pages: &[File]) -> Result<Vec<String>> {
    let manifest: toml::Table = cx.read("Cargo.toml")?.parse()?;
    let workspace =
        manifest.get("workspace").and_then(toml::Value::as_table).context("Cargo.toml: no workspace")?;
    let mut wrong = server_features(cx)?;
    wrong.extend(reasons(cx, workspace)?);
    wrong.extend(directions(cx)?);
    wrong.extend(rust_versions(cx, workspace, pages)?);
    let tables = cx.read("README.md")? + &cx.read("CONTRIBUTING.md")?;
    wrong.extend(crate_table(&cx.metadata(false)?, &tables));
    wrong.extend(unnamed_folders(&cx.read(paths::ARCHITECTURE)?, &tracked_folders(cx)?));
    Ok(wrong)
}

/// The folders of the root, and those of the two houses.
fn tracked_folders(cx: &Context) -> Result<BTreeSet<String>> {
    let files = cx.command("git").args(["ls-files"]).read()?;
    Ok(files.lines().filter_map(folder).collect())
}

/// The folder that a reader of the architecture page looks for a file in.
fn folder(file: &str) -> Option<String> {
    let folders: Vec<_> = file.split('/').collect();
    match folders[..] {
        [house @ ("crates" | "testserver"), name, _, ..] => Some(format!("{house}/{name}")),
        [name, _, ..] => Some(name.to_owned()),
        _ => None,
    }
}

/// The page about the architecture names every folder, itself or what is below it.
fn unnamed_folders(page: &str, folders: &BTreeSet<String>) -> Vec<String> {
    let is_named =
        |folder: &String| page.contains(&format!("`{folder}`")) || page.contains(&format!("`{folder}/"));
    let unnamed = folders.iter().filter(|folder| !is_named(folder));
    unnamed.map(|folder| format!("{}: the folder {folder} is missing", paths::ARCHITECTURE)).collect()
}

/// The page about the test server's features names those of its manifest, and no other.
fn server_features(cx: &Context) -> Result<Vec<String>> {
    let features: BTreeSet<_> =
        lint::server_features(&cx.read(paths::SERVER_MANIFEST)?)?.into_iter().collect();
    let named = pages::features_of_rows(&cx.read(paths::SUPPORT)?);
    let differing = features.symmetric_difference(&named);
    Ok(differing
        .map(|name| format!("{}: its features and those of Cargo.toml differ in {name}", paths::SUPPORT))
        .collect())
}

/// Every dependency of the workspace has a line.
fn reasons(cx: &Context, workspace: &toml::Table) -> Result<Vec<String>> {
    let page = paths::DEPENDENCY_LIST;
    let listed = cx.read(page)?;
    let dependencies = workspace.get("dependencies").and_then(toml::Value::as_table);
    let names = dependencies.into_iter().flat_map(toml::Table::keys);
    let unlisted = names.filter(|name| !name.starts_with("kube") && !listed.contains(&format!("`{name}`")));
    Ok(unlisted.map(|name| format!("{page}: {name} is missing")).collect())
}

fn directions(cx: &Context) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (package, never) in NEVER {
        let tree = tree(cx, package)?;
        let names: BTreeSet<_> = tree.iter().filter_map(|line| line.split(' ').next()).collect();
        let found = never.iter().filter(|name| names.contains(*name));
        wrong.extend(found.map(|name| format!("{package} depends on {name}")));
    }
    Ok(wrong)
}

/// Name and version of every crate that a package is linked with.
fn tree(cx: &Context, package: &str) -> Result<BTreeSet<String>> {
    let tree = cx.cargo("tree --locked -e normal --prefix none --no-dedupe -p").arg(package);
    let text = tree.read()?;
    Ok(text.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect())
}

fn rust_versions(cx: &Context, workspace: &toml::Table, pages: &[File]) -> Result<Vec<String>> {
    let package = workspace.get("package").and_then(|package| package.get("rust-version"));
    let rust = package.and_then(toml::Value::as_str).context("Cargo.toml: no rust-version")?;
    let mut wrong = Vec::new();
    for package in cx.metadata(true)?.packages {
        let needed = package.rust_version.as_ref().map(ToString::to_string).unwrap_or_default();
        if number(&needed) > number(rust) {
            wrong.push(format!(
                "{} {} needs Rust {needed}, Cargo.toml says {rust}",
                package.name, package.version
            ));
        }
        let published = package.source.is_none() && package.publish.as_ref().is_none_or(|to| !to.is_empty());
        if published
            && package.name.starts_with("kube-")
            && package.dependencies.iter().any(|d| d.name == "kube")
        {
            wrong.push(format!("{} depends on the facade", package.name));
        }
    }
    let said = regex(r"Rust (1\.\d+) or newer");
    for page in pages {
        let mut found: Vec<_> = said.captures_iter(&page.text).map(|found| found[1].to_owned()).collect();
        if found.is_empty() && paths::RUST_VERSION_PAGES.contains(&page.path.as_str()) {
            found.push("nothing".into());
        }
        let other = found.iter().filter(|version| *version != rust);
        wrong.extend(
            other.map(|version| format!("{}: says Rust {version}, Cargo.toml says {rust}", page.path)),
        );
    }
    if !cx.read("clippy.toml")?.contains(&format!("msrv = \"{rust}\"")) {
        wrong.push(format!("clippy.toml: msrv is not {rust}"));
    }
    Ok(wrong)
}

/// The tables of crates name every one that is published.
fn crate_table(metadata: &Metadata, pages: &str) -> Vec<String> {
    let published =
        metadata.packages.iter().filter(|package| package.publish.as_ref().is_none_or(|to| !to.is_empty()));
    let names = published.map(|package| package.name.as_str());
    let unnamed = names.filter(|name| !regex(&format!(r"\b{name}(`|\]|/)")).is_match(pages));
    unnamed.map(|name| format!("README.md and CONTRIBUTING.md: neither names the crate {name}")).collect()
}

fn number(version: &str) -> Vec<u32> {
    let mut parts: Vec<_> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    parts.resize(3, 0);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_is_on_the_page_of_the_architecture() {
        let files = [
            "Cargo.toml",
            "xtask/src/main.rs",
            "crates/kube/src/lib.rs",
            "testserver/README.md",
            "testserver/verify/src/run.rs",
        ];
        let folders: BTreeSet<_> = files.into_iter().filter_map(folder).collect();
        let wrong = unnamed_folders("`xtask`, `xtask/shared-build` and `crates/kube/src/`", &folders);
        let missing = ["testserver", "testserver/verify"];
        assert_eq!(
            wrong,
            missing.map(|name| format!("{}: the folder {name} is missing", paths::ARCHITECTURE))
        );
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert!(super::number("1.100") > super::number("1.89.2"));
        assert_eq!(super::number("1.89"), super::number("1.89.0"));
        assert!(super::number("") < super::number("1.0"));
    }
}
