//! Reads objects to load: from values, YAML text, files and directories.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::Value;

use super::error::LoadError;
use crate::object::meta;

/// Objects to load into a server, from values or YAML.
///
/// Created with `into()` from: a slice, array or `Vec` of typed objects or [`serde_json::Value`]s; a path to a YAML or JSON file, or to a
/// directory whose `.yaml`, `.yml` and `.json` files are read in order of their names, but for `kustomization.yaml`; a YAML text with any
/// number of documents. Lists (`kind: List`, `PodList`, ...) stand for their items.
///
/// ```
/// use kube_testserver::Manifests;
/// use k8s_openapi::api::core::v1::Namespace;
/// use std::path::Path;
///
/// let typed = Manifests::from([Namespace::default()]);
/// let text = Manifests::from("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n");
/// let directory = Manifests::from(Path::new("fixtures"));
/// ```
#[derive(Clone, Debug)]
pub struct Manifests(Source);

#[derive(Clone, Debug)]
enum Source {
    Path(PathBuf),
    Text(String),
    Values(Result<Vec<Value>, String>),
}

/// One object and its origin.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// The file or "the YAML text" with the number of the document, or the number of the value.
    pub(super) origin: String,
    pub(super) value: Value,
}

impl Manifests {
    /// The objects as values, those of lists included, in order.
    ///
    /// [`LoadError`] when a file cannot be read or a text is no YAML.
    ///
    /// ```
    /// let objects = kube_testserver::Manifests::from("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n").objects()?;
    /// assert_eq!(objects[0]["metadata"]["name"], "a");
    /// # Ok::<_, kube_testserver::LoadError>(())
    /// ```
    pub fn objects(self) -> Result<Vec<Value>, LoadError> {
        Ok(self.read()?.into_iter().map(|document| document.value).collect())
    }

    /// The objects, those of lists included.
    pub(super) fn read(self) -> Result<Vec<Document>, LoadError> {
        Ok(self.documents()?.into_iter().flat_map(unpack_list).collect())
    }

    /// The objects, and the newest resourceVersion of the lists.
    pub(super) fn read_snapshot(self) -> Result<(Vec<Document>, Option<u64>), LoadError> {
        let documents = self.documents()?;
        let lists = documents.iter().map(|document| &document.value).filter(|value| is_list(value));
        let revision = lists.filter_map(meta::revision).max();
        Ok((documents.into_iter().flat_map(unpack_list).collect(), revision))
    }

    fn documents(self) -> Result<Vec<Document>, LoadError> {
        match self.0 {
            Source::Path(path) => from_path(&path),
            Source::Text(text) => from_text("the YAML text", &text),
            Source::Values(values) => {
                let values = values.map_err(|why| LoadError::object("a value", why))?;
                let number = |(at, value)| Document { origin: format!("object {}", at + 1), value };
                Ok(values.into_iter().enumerate().map(number).collect())
            }
        }
    }

    fn values<K: Serialize>(objects: impl IntoIterator<Item = K>) -> Self {
        let value = |object| serde_json::to_value(object).map_err(|error| error.to_string());
        Self(Source::Values(objects.into_iter().map(value).collect()))
    }
}

impl From<&Path> for Manifests {
    fn from(path: &Path) -> Self {
        Self(Source::Path(path.into()))
    }
}

impl From<PathBuf> for Manifests {
    fn from(path: PathBuf) -> Self {
        Self(Source::Path(path))
    }
}

impl From<&str> for Manifests {
    fn from(yaml: &str) -> Self {
        Self(Source::Text(yaml.into()))
    }
}

impl From<String> for Manifests {
    fn from(yaml: String) -> Self {
        Self(Source::Text(yaml))
    }
}

impl From<Value> for Manifests {
    fn from(object: Value) -> Self {
        Self::values([object])
    }
}

impl<K: Serialize> From<Vec<K>> for Manifests {
    fn from(objects: Vec<K>) -> Self {
        Self::values(objects)
    }
}

impl<K: Serialize> From<&[K]> for Manifests {
    fn from(objects: &[K]) -> Self {
        Self::values(objects)
    }
}

impl<K: Serialize, const N: usize> From<[K; N]> for Manifests {
    fn from(objects: [K; N]) -> Self {
        Self::values(objects)
    }
}

fn from_path(path: &Path) -> Result<Vec<Document>, LoadError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        |source: io::Error| LoadError::Read { path, source }
    };
    if !path.is_dir() {
        let text = fs::read_to_string(path).map_err(unreadable(path))?;
        return from_text(&path.display().to_string(), &text);
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut files: Vec<PathBuf> =
        entries.map_err(unreadable(path))?.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| is_read(file));
    files.sort();
    let documents: Result<Vec<_>, _> = files.iter().map(|file| from_path(file)).collect();
    Ok(documents?.concat())
}

/// Of a directory. A kustomization names the objects beside it, and is none.
fn is_read(file: &Path) -> bool {
    let is_kustomization = file.file_stem().is_some_and(|stem| stem == "kustomization");
    match file.extension().and_then(OsStr::to_str) {
        Some("yaml" | "yml") => !is_kustomization && !file.is_dir(),
        Some("json") => !file.is_dir(),
        _ => false,
    }
}

/// Empty documents, as after a last `---`, are skipped.
fn from_text(origin: &str, text: &str) -> Result<Vec<Document>, LoadError> {
    // Unlimited: the parser's limits are for untrusted input, and a snapshot may be large.
    let options = serde_saphyr::options! { budget: None };
    let values: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| LoadError::Yaml { origin: origin.into(), why: error.to_string() })?;
    let number = |(at, value)| Document { origin: format!("{origin}, document {}", at + 1), value };
    Ok(values.into_iter().enumerate().map(number).filter(|d| !d.value.is_null()).collect())
}

fn is_list(value: &Value) -> bool {
    value["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) && value["items"].is_array()
}

fn unpack_list(document: Document) -> Vec<Document> {
    let Document { origin, mut value } = document;
    if !is_list(&value) {
        return vec![Document { origin, value }];
    }
    let Value::Array(items) = value["items"].take() else { return Vec::new() };
    let (api_version, kind) = (value["apiVersion"].clone(), value["kind"].as_str().unwrap_or_default());
    let item = |(at, mut item): (usize, Value)| {
        // Items of a typed list may omit `apiVersion` and `kind`.
        if kind != "List" && item.is_object() && item["kind"].is_null() {
            item["apiVersion"] = api_version.clone();
            item["kind"] = kind.trim_end_matches("List").into();
        }
        Document { origin: format!("{origin}, item {}", at + 1), value: item }
    };
    items.into_iter().enumerate().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_read_without_its_kustomization() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
        for name in ["kustomization.yaml", "kustomization.yml", "notes.txt"] {
            write(name, "kind: Kustomization\n");
        }
        write("b.yml", "kind: B\n");
        write("a.json", r#"{"kind": "A"}"#);
        fs::create_dir(home.path().join("c.yaml")).unwrap();
        write("c.yaml/c.yaml", "kind: C\n");
        let kinds = |path: PathBuf| {
            let objects = Manifests::from(path).objects().unwrap();
            objects.iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(home.path().into()), ["A", "B"]);
        assert_eq!(kinds(home.path().join("kustomization.yaml")), ["Kustomization"], "who names it wants it");
    }
}
