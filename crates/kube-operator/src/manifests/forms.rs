//! The files of each form of output.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    chart,
    error::ManifestsError,
    file::{File, file, file_name},
    placement::title,
    settings::Manifests,
    text::yaml,
};

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// All objects in one file, `install.yaml`, in the order in which they can be applied.
    Yaml,
    /// A kustomize base in `base/`, one file for each object.
    Kustomize,
    /// A Helm chart in `chart/`, one template for each object, with values for the image, replicas, resources, watched namespaces, and for
    /// whether CRDs, the NetworkPolicy, the ServiceMonitor and the dashboard are installed. The namespace is that of the release, names
    /// stay.
    Helm,
}

impl Manifests {
    /// The files of these forms with [what is for members](Self::for_members), and the samples, sorted by path. No file is written: see
    /// [`write`](Self::write).
    ///
    /// # Errors
    /// If the parts do not fit together: the message names the part and what was expected.
    pub fn files(&self, forms: impl IntoIterator<Item = Form>) -> Result<Vec<File>, ManifestsError> {
        let mut files = samples(self)?;
        let mut seen = Vec::new();
        for form in forms {
            if seen.contains(&form) {
                continue;
            }
            seen.push(form);
            files.extend(match form {
                Form::Yaml => vec![install(self)?],
                Form::Kustomize => base(self)?,
                Form::Helm => chart::chart(self)?,
            });
        }
        files.extend(members(self, &seen)?);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }
}

fn install(manifests: &Manifests) -> Result<File, ManifestsError> {
    Ok(file(manifests, "install.yaml", &documents(&manifests.objects()?)?))
}

/// What is for members: one file, which kubectl applies, and which overlays of kustomize have as a base.
fn members(manifests: &Manifests, forms: &[Form]) -> Result<Vec<File>, ManifestsError> {
    const INSTALL: &str = "install.yaml";
    let objects = if forms.is_empty() { Vec::new() } else { manifests.member_objects()? };
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let mut files = vec![file(manifests, format!("members/{INSTALL}"), &documents(&objects)?)];
    if forms.contains(&Form::Kustomize) {
        files.push(file(manifests, "members/kustomization.yaml", &yaml(&kustomization(&[INSTALL]))?));
    }
    Ok(files)
}

/// All of them in one file.
fn documents(objects: &[Value]) -> Result<String, ManifestsError> {
    let documents = objects.iter().map(yaml).collect::<Result<Vec<_>, _>>()?;
    Ok(documents.join("---\n"))
}

fn kustomization(resources: &[impl Serialize]) -> Value {
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    })
}

fn base(manifests: &Manifests) -> Result<Vec<File>, ManifestsError> {
    let objects = manifests.objects()?;
    let namespace = &manifests.facts.namespace;
    let names: Vec<_> = objects.iter().map(|object| file_name(object, namespace)).collect();
    let mut files = vec![file(manifests, "base/kustomization.yaml", &yaml(&kustomization(&names))?)];
    for (object, name) in objects.iter().zip(&names) {
        files.push(file(manifests, format!("base/{name}"), &yaml(object)?));
    }
    Ok(files)
}

fn samples(manifests: &Manifests) -> Result<Vec<File>, ManifestsError> {
    let mut files: Vec<File> = Vec::new();
    for sample in &manifests.samples {
        let object = sample.as_ref().map_err(|reason| {
            ManifestsError::inconsistent("a sample cannot be written as JSON", reason.clone())
        })?;
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        if ![&object["apiVersion"], &object["kind"], &object["metadata"]["name"]].into_iter().all(is_text) {
            let what = format!("the sample {}", title(object));
            return Err(ManifestsError::inconsistent(what, "expected apiVersion, kind and metadata.name"));
        }
        let group_version = object["apiVersion"].as_str().unwrap_or_default();
        let version = group_version.rsplit('/').next().unwrap_or_default();
        let name = file_name(object, object["metadata"]["namespace"].as_str().unwrap_or_default());
        let path = format!("samples/{version}-{name}");
        if files.iter().any(|file| file.path == path) {
            let what = format!("the sample {} of {group_version}", title(object));
            return Err(ManifestsError::inconsistent(what, "expected one of this kind and name, found two"));
        }
        files.push(file(manifests, path, &yaml(object)?));
    }
    Ok(files)
}
