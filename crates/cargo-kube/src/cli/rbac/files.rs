//! The roles and bindings in the files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use kube_tools::yaml::Objects;
use serde_json::Value;

use crate::cli::program::Program;

/// The objects of the group of RBAC in the files below a folder.
pub(super) fn roles_below(folder: &Path) -> Result<Vec<Value>> {
    let mut files = Vec::new();
    collect(folder, &mut files).with_context(|| Program::shown(folder).to_string())?;
    files.sort();
    let mut roles = Vec::new();
    for file in &files {
        // Each by itself, since an object may be in several files.
        for object in Objects::read(file)?.iter() {
            let of_rbac =
                |types: &kube_core::TypeMeta| types.api_version.starts_with("rbac.authorization.k8s.io/");
            if object.types.as_ref().is_some_and(of_rbac) {
                roles.push(serde_json::to_value(object)?);
            }
        }
    }
    if roles.is_empty() {
        bail!("{}: expected roles in YAML files, found none", Program::shown(folder));
    }
    Ok(roles)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            let is_left_out = name.starts_with('.') || name == "samples" || path.join("Chart.yaml").exists();
            if !is_left_out {
                collect(&path, files)?;
            }
        } else if !name.starts_with('.') && [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end)) {
            files.push(path);
        }
    }
    Ok(())
}
