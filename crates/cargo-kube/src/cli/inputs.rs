//! Paths of the command line: files, directories, `-` for standard input.

use std::path::Path;

use anyhow::{Result, bail};
use cargo_kube::types::Definitions;
use kube_tools::yaml::Objects;

/// The definitions in a file, a directory, or standard input (`-`).
pub(super) fn definitions(path: &Path, recursive: bool) -> Result<Definitions> {
    Ok(match (local(path)?, recursive) {
        ("-", _) => Definitions::from_reader("standard input", std::io::stdin())?,
        (_, true) => Definitions::read_recursive(path)?,
        (_, false) => Definitions::read(path)?,
    })
}

/// As [`definitions`], and there has to be one.
pub(super) fn some_definitions(path: &Path, recursive: bool) -> Result<Definitions> {
    let definitions = definitions(path, recursive)?;
    if definitions.is_empty() {
        let path = path.display();
        bail!("{path}: expected a CustomResourceDefinition of apiextensions.k8s.io/v1, found none");
    }
    Ok(definitions)
}

/// The objects in a file, a directory, or standard input (`-`).
pub(super) fn objects(path: &Path, recursive: bool) -> Result<Objects> {
    Ok(match (local(path)?, recursive) {
        ("-", _) => Objects::from_reader("standard input", std::io::stdin())?,
        (_, true) => Objects::read_recursive(path)?,
        (_, false) => Objects::read(path)?,
    })
}

fn local(path: &Path) -> Result<&str> {
    let text = path.to_str().unwrap_or_default();
    if text.starts_with("https://") || text.starts_with("http://") {
        bail!("{text}: expected a file or a directory; URLs are not read");
    }
    Ok(text)
}
