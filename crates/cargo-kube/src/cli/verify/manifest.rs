//! The Cargo.toml of a project: where its `kube` is from, and what its test needs.

use std::path::Path;

use anyhow::{Context as _, Result};
use toml_edit::{DocumentMut, Item, Value};

use crate::cli::project::source::{Source, TESTSERVER, VERIFY};

/// Where the package in `root` has `kube` from, if `kube-verify` is there as well: not if it is from a registry, or from a repository that
/// is not known. `own` is that of this program.
pub(super) fn source_of_kube(root: &Path, manifest: &DocumentMut, own: Option<&Source>) -> Option<Source> {
    let kube = manifest.get("dependencies")?.get("kube")?;
    let is_inherited = kube.get("workspace").and_then(Item::as_bool) == Some(true);
    let source = if is_inherited { inherited(root)? } else { Source::of_dependency(kube)? };
    let has_verify = match &source {
        Source::Path(path) => root.join(path).join(VERIFY).join("Cargo.toml").is_file(),
        Source::Git { url, .. } => {
            matches!(own, Some(Source::Git { url: own, .. }) if own == url) || is_of_template(manifest)
        }
    };
    has_verify.then_some(source)
}

/// Whether `cargo kube new` wrote the project.
pub(super) fn is_of_template(manifest: &DocumentMut) -> bool {
    let metadata = manifest.get("package").and_then(|package| package.get("metadata"));
    metadata.is_some_and(|metadata| metadata.get("cargo-kube").is_some())
}

/// Where the workspace has `kube` from, with a path as the package would write it.
fn inherited(root: &Path) -> Option<Source> {
    root.ancestors().enumerate().find_map(|(above, folder)| {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        let workspace: DocumentMut = text.parse().ok()?;
        let kube = workspace.get("workspace")?.get("dependencies")?.get("kube")?;
        Some(match Source::of_dependency(kube)? {
            Source::Path(path) if Path::new(&path).is_relative() => {
                let path = "../".repeat(above) + &path;
                let path = path.trim_end_matches('/');
                Source::Path(if path.is_empty() { "." } else { path }.to_owned())
            }
            source => source,
        })
    })
}

/// The library of a package.
#[derive(Debug, Default)]
pub(super) struct Library {
    /// As code names it: also if there is none, as a library would have this name.
    pub(super) name: String,
    pub(super) is_present: bool,
}

/// That of the package in `root`, by Cargo's rules.
pub(super) fn library(root: &Path, manifest: &DocumentMut) -> Library {
    let name_in = |table: Option<&Item>| {
        table.and_then(|table| table.get("name")).and_then(Item::as_str).map(|name| name.replace('-', "_"))
    };
    let library = manifest.get("lib");
    Library {
        name: name_in(library).or_else(|| name_in(manifest.get("package"))).unwrap_or_default(),
        is_present: library.is_some() || root.join("src/lib.rs").is_file(),
    }
}

/// The release of k8s-openapi that the test server is built with.
const K8S_OPENAPI: &str = "0.29";

/// Adds the dependencies of the test that the package does not have yet. `with_kube` is for operators that are functions of a `Client`.
pub(super) fn add_dev_dependencies(
    manifest: &mut DocumentMut,
    source: &Source,
    with_kube: bool,
) -> Result<()> {
    // A package that does not use this release of k8s-openapi chooses no version for it.
    let chosen = [("\"kube\"", with_kube), ("\"latest\"", !chooses_version(manifest))];
    let features: Vec<_> = chosen.iter().filter(|(_, is_needed)| *is_needed).map(|(name, _)| *name).collect();
    let features =
        if features.is_empty() { String::new() } else { format!(", features = [{}]", features.join(", ")) };
    let mut missing = vec![
        ("kube-testserver", format!("{{ {} }}", source.dependency(TESTSERVER))),
        ("kube-verify", format!("{{ {}{features} }}", source.dependency(VERIFY))),
        ("serde_json", "\"1\"".to_owned()),
    ];
    missing.retain(|(name, _)| !has(manifest, name));
    if missing.is_empty() {
        return Ok(());
    }
    let table = manifest.entry("dev-dependencies").or_insert_with(toml_edit::table);
    let table = table.as_table_like_mut().context("Cargo.toml: dev-dependencies: expected a table")?;
    for (name, text) in missing {
        let value: Value = text.parse().with_context(|| format!("Cargo.toml: dev-dependencies.{name}"))?;
        table.insert(name, Item::Value(value));
    }
    Ok(())
}

/// Whether the package depends on the release of k8s-openapi that the test server is built with, or on one that only its workspace knows.
fn chooses_version(manifest: &DocumentMut) -> bool {
    let tables = ["dependencies", "dev-dependencies"].into_iter().filter_map(|table| manifest.get(table));
    let mut entries = tables.filter_map(|table| table.get("k8s-openapi"));
    entries.any(|entry| {
        let version = entry.as_str().or_else(|| entry.get("version").and_then(Item::as_str));
        version
            .is_none_or(|version| version.trim_start_matches(['=', '^', '~', ' ']).starts_with(K8S_OPENAPI))
    })
}

/// Whether tests of the package can use the crate.
fn has(manifest: &DocumentMut, name: &str) -> bool {
    let find = |table: &str| manifest.get(table).and_then(|table| table.get(name));
    let is_optional = |item: &Item| item.get("optional").and_then(Item::as_bool) == Some(true);
    find("dev-dependencies").is_some() || find("dependencies").is_some_and(|item| !is_optional(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(manifest: &str, with_kube: bool) -> String {
        let mut manifest: DocumentMut = manifest.parse().unwrap();
        add_dev_dependencies(&mut manifest, &Source::Path("../kube".into()), with_kube).unwrap();
        manifest.to_string()
    }

    #[test]
    fn dependencies_that_are_missing_are_added_and_no_others() {
        let package = "[package]\nname = \"op\"\n\n[dependencies]\nk8s-openapi = \"0.29\"\n";
        let all = "\n[dev-dependencies]\n\
                   kube-testserver = { path = \"../kube/testserver/server\" }\n\
                   kube-verify = { path = \"../kube/testserver/verify\", features = [\"kube\"] }\n\
                   serde_json = \"1\"\n";
        assert_eq!(added(package, true), format!("{package}{all}"));
        assert_eq!(
            added(package, false),
            format!("{package}{all}").replace(", features = [\"kube\"]", ""),
            "for another client library"
        );
        let complete = format!("{package}{all}");
        assert_eq!(added(&complete, true), complete);

        let some = "[dependencies]\n\
                    k8s-openapi = { version = \"=0.29.0\", features = [\"latest\"] }\n\
                    serde_json = \"1.0.1\" # exactly\n\
                    kube-testserver = { path = \"x\", optional = true }\n\n\
                    [dev-dependencies]\ntower = \"0.5\"\n\n[profile.dev]\ndebug = false\n";
        let expected = "[dev-dependencies]\ntower = \"0.5\"\n\
                        kube-testserver = { path = \"../kube/testserver/server\" }\n\
                        kube-verify = { path = \"../kube/testserver/verify\" }\n\n[profile.dev]\n";
        let text = added(some, false);
        assert!(text.contains(expected) && text.contains("\nserde_json = \"1.0.1\" # exactly\n"), "{text}");
    }

    #[test]
    fn a_version_is_chosen_for_a_package_that_does_not_use_the_same_k8s_openapi() {
        for (package, with_kube, features) in [
            ("", false, "[\"latest\"]"),
            (
                "[dependencies]\nk8s-openapi = { version = \"0.25\", features = [\"latest\"] }\n",
                false,
                "[\"latest\"]",
            ),
            ("[dependencies]\nkube = { path = \"../kube/crates/kube\" }\n", true, "[\"kube\", \"latest\"]"),
        ] {
            let text = added(package, with_kube);
            assert!(text.contains(&format!("verify\", features = {features} }}")), "{text}");
        }
        let inherited = added("[dependencies]\nk8s-openapi = { workspace = true }\n", false);
        assert!(inherited.contains("testserver/verify\" }"), "{inherited}");
    }

    #[test]
    fn dependencies_that_are_no_table_are_an_error() {
        let mut manifest: DocumentMut = "dev-dependencies = 1\n".parse().unwrap();
        let error = add_dev_dependencies(&mut manifest, &Source::Path("../kube".into()), true).unwrap_err();
        assert_eq!(error.to_string(), "Cargo.toml: dev-dependencies: expected a table");
    }

    #[test]
    fn a_library_is_called_as_cargo_calls_it() {
        let of = |more: &str| {
            let text = format!("[package]\nname = \"page-operator\"\n{more}");
            let library = library(Path::new("/nowhere"), &text.parse().unwrap());
            (library.name, library.is_present)
        };
        assert_eq!(of(""), ("page_operator".to_owned(), false));
        assert_eq!(of("[lib]\npath = \"op.rs\"\n"), ("page_operator".to_owned(), true));
        assert_eq!(of("[lib]\nname = \"pages\"\n"), ("pages".to_owned(), true));
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(library(here, &DocumentMut::new()).is_present);
    }

    #[test]
    fn a_repository_has_kube_verify_if_it_is_that_of_this_program_or_of_a_template() {
        let git = |url: &str| Source::Git { url: url.into(), commit: "abc".into() };
        let own = git("https://example.com/kube");
        let of = |kube: &str, more: &str| {
            let text = format!("[package]\nname = \"op\"\n{more}[dependencies]\nkube = {kube}\n");
            source_of_kube(Path::new("/nowhere"), &text.parse().unwrap(), Some(&own))
        };
        let (same, other) = (
            "{ git = \"https://example.com/kube\", rev = \"abc\" }",
            "{ git = \"https://example.com/other\", rev = \"abc\" }",
        );
        assert_eq!(of(same, ""), Some(own.clone()));
        assert_eq!(of(other, ""), None);
        assert_eq!(of(other, "[package.metadata.cargo-kube]\n"), Some(git("https://example.com/other")));
        for elsewhere in ["\"5\"", "{ path = \"kube/crates/kube\" }", "{ workspace = true }"] {
            assert_eq!(of(elsewhere, ""), None, "{elsewhere}");
        }
    }
}
