//! Paths of the command line: files, directories, `-` for standard input.

use std::path::Path;

use anyhow::{Result, bail};
use cargo_kube::folder;
use cargo_kube::types::{Definitions, Error};
use kube_tools::yaml::{Objects, ReadError};

/// The definitions in a file, a directory, or standard input (`-`).
pub(super) fn definitions(path: &Path, recursive: bool) -> Result<Definitions> {
    let read = match (local(path)?, recursive) {
        ("-", _) => Definitions::from_reader("standard input", std::io::stdin()),
        (_, true) => Definitions::read_recursive(path),
        (_, false) => Definitions::read(path),
    };
    Ok(read.map_err(|err| match err {
        Error::Read(err) => Error::Read(of_command(err)),
        err => err,
    })?)
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
    let read = match local(path)? {
        "-" => Objects::from_reader("standard input", std::io::stdin()),
        _ => folder::objects(path, recursive),
    };
    Ok(read.map_err(of_command)?)
}

/// Without the advice to programs, which have a method for subdirectories.
fn of_command(err: ReadError) -> ReadError {
    match err {
        ReadError::NoFiles { path, .. } => ReadError::NoFiles { path, recursive: true },
        err => err,
    }
}

fn local(path: &Path) -> Result<&str> {
    let text = path.to_str().unwrap_or_default();
    if text.starts_with("https://") || text.starts_with("http://") {
        bail!("{text}: expected a file or a directory; URLs are not read");
    }
    Ok(text)
}
