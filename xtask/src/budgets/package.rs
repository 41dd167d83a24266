//! The crates of the checkout, and the modules that their files are.

use std::collections::BTreeMap;

use anyhow::Result;

use super::scan::{Scan, scan};
use crate::facts::File;

/// Folders of the workspace.
const MEASURED: [&str; 6] = ["crates/", "testserver/", "xtask/", "examples/", "e2e/", "guard/"];

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

/// All crates that have a folder `src`.
pub(super) fn packages(sources: &[File]) -> Result<Vec<Package<'_>>> {
    let mut packages = BTreeMap::<&str, Vec<Module<'_>>>::new();
    for file in sources.iter().filter(|file| MEASURED.iter().any(|folder| file.path.starts_with(folder))) {
        let Some(start) = file.path.find("/src/") else { continue };
        let (folder, inside) = (&file.path[..start + 4], &file.path[start + 5..]);
        if !is_test(inside) {
            let path = module(inside);
            let scan = scan(&path, &file.text)?;
            packages.entry(folder).or_default().push(Module { file, path, scan });
        }
    }
    Ok(packages.into_iter().map(|(folder, modules)| Package { folder, modules }).collect())
}

/// Whether a file has only tests, by its path below `src`.
fn is_test(inside: &str) -> bool {
    inside.trim_end_matches(".rs").split('/').any(|part| part == "tests" || part.ends_with("_tests"))
}

fn module(inside: &str) -> Vec<String> {
    let path = inside.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") {
        return Vec::new();
    }
    path.split('/').map(str::to_owned).collect()
}
