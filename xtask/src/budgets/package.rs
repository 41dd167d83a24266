//! The crates of the checkout, and the modules that their files are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;

use super::scan::{Scan, scan};
use crate::facts::File;
use crate::pattern::regex;

/// Folders of the workspaces.
const MEASURED: [&str; 8] =
    ["crates/", "testserver/", "xtask/", "examples/", "e2e/", "guard/", "bench/", "fuzz/"];

/// A module in a file of its own, with its attributes.
static DECLARED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?m)((?:^\s*#\[[^\n]*\]\s*)+)(?:pub(?:\([^)]*\))? )?mod (\w+);"));
static CFG_TEST: LazyLock<Regex> = LazyLock::new(|| regex(r"#\[cfg\((?:all\()?test\b"));
static PATH: LazyLock<Regex> = LazyLock::new(|| regex(r#"path = "([^"]+)""#));

/// The folder `src` of a crate.
pub(super) struct Package<'a> {
    pub(super) folder: &'a str,
    pub(super) modules: Vec<Module<'a>>,
}

/// A file of a crate, without tests.
pub(super) struct Module<'a> {
    pub(super) file: &'a File,
    /// Its path inside of the crate: nothing for `lib.rs` and `main.rs`.
    pub(super) path: Vec<String>,
    pub(super) scan: Scan,
}

impl Module<'_> {
    pub(super) fn is_root(&self) -> bool {
        self.path.is_empty()
    }

    pub(super) fn is_folder(&self) -> bool {
        self.file.path.ends_with("/mod.rs")
    }
}

/// All crates that have a folder `src`. A binary with a folder of its own is one as well.
pub(super) fn packages(sources: &[File]) -> Result<Vec<Package<'_>>> {
    let measured = sources.iter().filter(|file| MEASURED.iter().any(|folder| file.path.starts_with(folder)));
    let placed: Vec<_> = measured.filter_map(|file| Some((file, place(&file.path)?))).collect();
    let tests: BTreeSet<_> = placed.iter().flat_map(|(file, _)| modules_of_tests(file)).collect();
    let mut packages = BTreeMap::<&str, Vec<Module<'_>>>::new();
    for (file, (folder, inside)) in placed {
        if !is_test(folder, inside, &tests) {
            let path = module(inside);
            let scan = scan(&path, &file.text)?;
            packages.entry(folder).or_default().push(Module { file, path, scan });
        }
    }
    Ok(packages.into_iter().map(|(folder, modules)| Package { folder, modules }).collect())
}

/// The folder of the crate, and the path of the file in it.
fn place(path: &str) -> Option<(&str, &str)> {
    let (folder, inside) = path.split_at(path.find("/src/")? + "/src".len());
    let inside = &inside[1..];
    match inside.strip_prefix("bin/").and_then(|binary| binary.find('/')) {
        Some(length) => {
            let length = folder.len() + "/bin/".len() + length;
            Some((&path[..length], &path[length + 1..]))
        }
        None => Some((folder, inside)),
    }
}

/// The paths, without `.rs`, of modules that a file declares for tests.
fn modules_of_tests(file: &File) -> Vec<String> {
    let path = file.path.trim_end_matches(".rs");
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let below = if ["mod", "lib", "main"].contains(&name) { folder } else { path };
    let declared = DECLARED.captures_iter(&file.text).filter(|found| CFG_TEST.is_match(&found[1]));
    declared
        .map(|found| match PATH.captures(&found[1]) {
            Some(path) => format!("{folder}/{}", path[1].trim_end_matches(".rs")),
            None => format!("{below}/{}", &found[2]),
        })
        .collect()
}

/// Whether a file has only tests: its name or that of a folder says so, and it is declared so.
fn is_test(folder: &str, inside: &str, tests: &BTreeSet<String>) -> bool {
    let mut path = folder.to_owned();
    inside.trim_end_matches(".rs").split('/').any(|part| {
        path = format!("{path}/{part}");
        (part == "tests" || part.ends_with("_tests")) && tests.contains(&path)
    })
}

fn module(inside: &str) -> Vec<String> {
    let path = inside.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") {
        return Vec::new();
    }
    path.split('/').map(str::to_owned).collect()
}
