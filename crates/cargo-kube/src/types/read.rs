//! [`Definitions`]: definitions of custom resources from files and programs, with the places they were read from.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::DynamicObject;
use kube_tools::yaml::{Objects, Source};

use super::error::Error;
use crate::folder;

/// The definitions of custom resources of a run, in the order of their names, each once.
///
/// Of their metadata, name, labels and annotations are kept (without that of `kubectl apply`), and no status: what a server adds would
/// change the generated files without a change of the definition. Of the status, [`Definitions::stored_versions`] has what other commands
/// need.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    entries: Vec<Definition>,
    /// What was read, for the error about an empty run.
    inputs: Vec<String>,
}

/// A definition, and where it was read.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) crd: CustomResourceDefinition,
    pub(super) at: String,
    stored_versions: Vec<String>,
}

impl Definition {
    fn new(crd: CustomResourceDefinition, at: String) -> Self {
        let stored_versions = stored_versions(&crd);
        Self { crd: cleaned(crd), at, stored_versions }
    }
}

impl Definitions {
    /// Parses YAML or JSON: several documents and lists too. Objects of other kinds are passed over.
    ///
    /// # Errors
    /// [`Error::Read`] for what is no object, [`Error::Definition`] for a definition that is not valid or occurs twice.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::from_objects("the text", &Objects::parse(text)?)
    }

    /// Reads one file, whatever its name, or the `.yaml`, `.yml` and `.json` files of a directory, without its subdirectories, as
    /// `kubectl apply -f` does; the `kustomization.yaml` of a directory is passed over.
    ///
    /// ```no_run
    /// use cargo_kube::types::Definitions;
    ///
    /// let mut definitions = Definitions::read("crds/")?;
    /// definitions.extend(Definitions::read("more.yaml")?)?;
    /// # Ok::<(), cargo_kube::types::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Definitions::parse`], with the path of the file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_objects(&path.as_ref().display().to_string(), &folder::objects(path.as_ref(), false)?)
    }

    /// As [`Definitions::read`], with the files of all subdirectories.
    ///
    /// # Errors
    /// As [`Definitions::read`].
    pub fn read_recursive(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_objects(&path.as_ref().display().to_string(), &folder::objects(path.as_ref(), true)?)
    }

    /// Reads to the end of `reader`, such as standard input. Errors have `name` in place of a path.
    ///
    /// # Errors
    /// As [`Definitions::read`].
    pub fn from_reader(name: &str, reader: impl Read) -> Result<Self, Error> {
        Self::from_objects(name, &Objects::from_reader(name, reader)?)
    }

    /// Takes definitions of the program, such as those of a cluster.
    ///
    /// # Errors
    /// [`Error::Definition`] for the first that is not valid or occurs twice.
    pub fn from_crds(crds: impl IntoIterator<Item = CustomResourceDefinition>) -> Result<Self, Error> {
        let mut definitions = Self::default();
        for crd in crds {
            let at = crd.metadata.name.clone().unwrap_or_else(|| "a definition without a name".to_owned());
            definitions.entries.push(Definition::new(crd, at));
        }
        definitions.inputs.push("the definitions of the program".to_owned());
        definitions.checked()
    }

    /// Adds other definitions.
    ///
    /// # Errors
    /// [`Error::Definition`] if both have a definition; these are then as before.
    pub fn extend(&mut self, others: Self) -> Result<(), Error> {
        for other in &others.entries {
            let own =
                self.entries.binary_search_by(|own| own.crd.metadata.name.cmp(&other.crd.metadata.name));
            if let Ok(at) = own {
                return Err(twice(&self.entries[at], other));
            }
        }
        self.entries.extend(others.entries);
        self.inputs.extend(others.inputs);
        self.sort();
        Ok(())
    }

    /// Keeps the definitions for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&CustomResourceDefinition) -> bool) {
        self.entries.retain(|entry| keep(&entry.crd));
    }

    /// The definitions, in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &CustomResourceDefinition> {
        self.entries.iter().map(|entry| &entry.crd)
    }

    /// The versions in which objects of the definition `name` may be stored: its `status.storedVersions`, or, if it was not read from a
    /// cluster, its storage version. Empty if there is no such definition.
    #[must_use]
    pub fn stored_versions(&self, name: &str) -> &[String] {
        let entry = self.entries.iter().find(|entry| entry.crd.metadata.name.as_deref() == Some(name));
        entry.map_or(&[], |entry| &entry.stored_versions)
    }

    /// The number of definitions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn entries(&self) -> &[Definition] {
        &self.entries
    }

    pub(super) fn inputs(&self) -> String {
        if self.inputs.is_empty() { "no input".to_owned() } else { self.inputs.join(", ") }
    }

    fn from_objects(input: &str, objects: &Objects) -> Result<Self, Error> {
        let mut definitions = Self { entries: Vec::new(), inputs: vec![input.to_owned()] };
        for (object, source) in objects.iter().zip(objects.sources()) {
            definitions.entries.extend(definition(object, source)?);
        }
        definitions.checked()
    }

    /// In order, each once, and with what the generator relies on.
    fn checked(mut self) -> Result<Self, Error> {
        self.entries.iter().try_for_each(check)?;
        self.sort();
        let same = |pair: &&[Definition]| pair[0].crd.metadata.name == pair[1].crd.metadata.name;
        match self.entries.windows(2).find(same) {
            Some(pair) => Err(twice(&pair[0], &pair[1])),
            None => Ok(self),
        }
    }

    fn sort(&mut self) {
        self.entries.sort_by(|a, b| a.crd.metadata.name.cmp(&b.crd.metadata.name));
    }
}

/// The definition in an object; `None` for an object of another kind.
fn definition(object: &DynamicObject, source: Option<&Source>) -> Result<Option<Definition>, Error> {
    let at = source.map(ToString::to_string).unwrap_or_default();
    let Some(types) = &object.types else { return Ok(None) };
    match (types.api_version.as_str(), types.kind.as_str()) {
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => {}
        (version, "CustomResourceDefinition") if version.starts_with("apiextensions.k8s.io/") => {
            let reason = format!("expected apiextensions.k8s.io/v1, found {version}: convert the definition");
            return Err(Error::Definition { at, field: "apiVersion".to_owned(), reason });
        }
        _ => return Ok(None),
    }
    let json = serde_json::to_value(object).map_err(|err| Error::Definition {
        at: at.clone(),
        field: "metadata".to_owned(),
        reason: err.to_string(),
    })?;
    let crd = serde_path_to_error::deserialize(json).map_err(|err| Error::Definition {
        at: at.clone(),
        field: err.path().to_string(),
        reason: err.inner().to_string(),
    })?;
    Ok(Some(Definition::new(crd, at)))
}

fn stored_versions(crd: &CustomResourceDefinition) -> Vec<String> {
    let stored = crd.status.as_ref().and_then(|status| status.stored_versions.clone());
    stored.filter(|versions| !versions.is_empty()).unwrap_or_else(|| {
        let storage = crd.spec.versions.iter().filter(|version| version.storage);
        storage.map(|version| version.name.clone()).collect()
    })
}

/// Without what a server and `kubectl apply` add.
fn cleaned(crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let annotations = crd.metadata.annotations.map(|mut annotations| {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        annotations
    });
    let metadata = ObjectMeta {
        name: crd.metadata.name,
        labels: crd.metadata.labels.filter(|labels| !labels.is_empty()),
        annotations: annotations.filter(|annotations| !annotations.is_empty()),
        ..ObjectMeta::default()
    };
    CustomResourceDefinition { metadata, spec: crd.spec, status: None }
}

fn check(definition: &Definition) -> Result<(), Error> {
    let (metadata, spec) = (&definition.crd.metadata, &definition.crd.spec);
    let name = metadata.name.as_deref().unwrap_or_default();
    let expected = format!("{}.{}", spec.names.plural, spec.group);
    if spec.names.plural.is_empty() || spec.group.is_empty() || name != expected {
        let reason = format!("expected `plural.group` of the spec, `{expected}`, found `{name}`");
        return Err(invalid(definition, "metadata.name", reason));
    }
    if spec.names.kind.is_empty() {
        return Err(invalid(
            definition,
            "spec.names.kind",
            "expected the name of a kind, found an empty text",
        ));
    }
    if !matches!(spec.scope.as_str(), "Namespaced" | "Cluster") {
        let reason = format!("expected Namespaced or Cluster, found `{}`", spec.scope);
        return Err(invalid(definition, "spec.scope", reason));
    }
    if spec.versions.is_empty() {
        return Err(invalid(definition, "spec.versions", "expected at least one version, found none"));
    }
    let mut first = HashMap::new();
    for (at, version) in spec.versions.iter().enumerate() {
        let field = format!("spec.versions[{at}].name");
        if version.name.is_empty() {
            return Err(invalid(definition, field, "expected the name of a version, found an empty text"));
        }
        if let Some(first) = first.insert(&version.name, at) {
            let reason =
                format!("expected each version once, found `{}` in versions[{first}] too", version.name);
            return Err(invalid(definition, field, reason));
        }
    }
    Ok(())
}

fn twice(first: &Definition, second: &Definition) -> Error {
    let reason = format!("expected each definition once, found it again in {}", second.at);
    invalid(first, "metadata.name", reason)
}

fn invalid(definition: &Definition, field: impl Into<String>, reason: impl Into<String>) -> Error {
    Error::Definition { at: definition.at.clone(), field: field.into(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pages.example.com, uid: '1', annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}', a: b}}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Page, plural: pages}
  versions: [{name: v1, served: true, storage: true}]
status: {conditions: []}
";

    fn error(text: &str) -> String {
        Definitions::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn what_a_server_adds_is_left_out() {
        let definitions = Definitions::parse(PAGE).unwrap();
        let crd = definitions.iter().next().unwrap();
        assert_eq!((crd.metadata.uid.as_ref(), crd.status.as_ref()), (None, None));
        assert_eq!(crd.metadata.annotations.as_ref().map(|all| all.len()), Some(1));
    }

    #[test]
    fn other_kinds_are_passed_over_and_lists_are_read() {
        let page = PAGE.replace('\n', "\n    ").replace("    status: {conditions: []}\n", "");
        let list = format!(
            "kind: ConfigMap\napiVersion: v1\nmetadata: {{name: a}}\n---\napiVersion: v1\nkind: List\nitems:\n  - {}\n",
            page.trim_end()
        );
        assert_eq!(Definitions::parse(&list).unwrap().len(), 1);
    }

    #[test]
    fn errors_name_the_document_the_field_and_what_was_expected() {
        let other = PAGE.replace("pages.example.com", "page.example.com");
        assert_eq!(
            error(&format!("{PAGE}---\n{other}")),
            "document 2, line 11: metadata.name: expected `plural.group` of the spec, `pages.example.com`, found `page.example.com`"
        );
        let twice = Definitions::parse(PAGE).unwrap();
        let err = twice.clone().extend(twice).unwrap_err().to_string();
        assert_eq!(
            err,
            "document 1, line 1: metadata.name: expected each definition once, found it again in document 1, line 1"
        );
        let old = PAGE.replace("k8s.io/v1", "k8s.io/v1beta1");
        assert_eq!(
            error(&old),
            "document 1, line 1: apiVersion: expected apiextensions.k8s.io/v1, found apiextensions.k8s.io/v1beta1: convert the definition"
        );
        let err = error(&PAGE.replace("served: true", "served: 1"));
        assert!(err.starts_with("document 1, line 1: spec.versions[0].served: invalid type"), "{err}");
        let err = error(&PAGE.replace("[{name: v1, served: true, storage: true}]", "[]"));
        assert_eq!(err, "document 1, line 1: spec.versions: expected at least one version, found none");
        let version = "{name: v1, served: true, storage: true}";
        let err = error(&PAGE.replace(version, &format!("{version}, {version}")));
        assert!(
            err.ends_with("spec.versions[1].name: expected each version once, found `v1` in versions[0] too"),
            "{err}"
        );
        let err = error(&PAGE.replace("Namespaced", "Everywhere"));
        assert!(err.ends_with("spec.scope: expected Namespaced or Cluster, found `Everywhere`"), "{err}");
    }
}
