//! Generated files: their names and their first line.

use serde_json::Value;

use super::settings::Manifests;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Below the folder, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// The first line of every generated file.
pub(super) fn header(manifests: &Manifests) -> String {
    format!("# Generated from the code of {}: do not edit.", manifests.name)
}

/// A generated file.
pub(super) fn file(manifests: &Manifests, path: impl Into<String>, text: &str) -> File {
    File { path: path.into(), text: format!("{}\n{text}", header(manifests)) }
}

/// Of one object, such as `clusterrole-checker.yaml`; with the namespace if it is another than the program's.
pub(super) fn file_name(object: &Value, own_namespace: &str) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&object["kind"]).to_lowercase(), text(&object["metadata"]["name"]));
    // Roles may have colons in their names, which not every file system has.
    let name = name.replace(':', "_");
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) if namespace != own_namespace => format!("{kind}-{name}-{namespace}.yaml"),
        _ => format!("{kind}-{name}.yaml"),
    }
}
