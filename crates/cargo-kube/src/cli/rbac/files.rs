//! The roles and bindings in the files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::cli::program::Program;

const GROUP: &str = "rbac.authorization.k8s.io/";

/// The objects of the group of RBAC in the files below a folder. Other documents may be anything: kustomizations, patches, values.
pub(super) fn roles_below(folder: &Path) -> Result<Vec<Value>> {
    let mut files = Vec::new();
    collect(folder, &mut files).with_context(|| Program::shown(folder).to_string())?;
    files.sort();
    let mut roles = Vec::new();
    for file in &files {
        let read = || -> Result<Vec<Value>> { Ok(serde_saphyr::from_multiple(&fs::read_to_string(file)?)?) };
        let documents = read().with_context(|| Program::shown(file).to_string())?;
        documents.into_iter().for_each(|document| add_roles(document, &mut roles));
    }
    if roles.is_empty() {
        bail!("{}: expected roles in YAML files, found none", Program::shown(folder));
    }
    Ok(roles)
}

/// Adds a document of the group of RBAC, or those of a list.
fn add_roles(mut document: Value, roles: &mut Vec<Value>) {
    let is_list = document["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    if let (true, Some(Value::Array(items))) = (is_list, document.get_mut("items").map(Value::take)) {
        items.into_iter().for_each(|item| add_roles(item, roles));
    } else if document["apiVersion"].as_str().is_some_and(|version| version.starts_with(GROUP)) {
        roles.push(document);
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            // The roles in `members` are for other clusters.
            let is_left_out = name.starts_with('.')
                || name == "samples"
                || name == "members"
                || path.join("Chart.yaml").exists();
            if !is_left_out {
                collect(&path, files)?;
            }
        } else if !name.starts_with('.') && [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end)) {
            files.push(path);
        }
    }
    Ok(())
}
