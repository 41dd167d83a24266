//! Where the objects are to be, and what they have in common.

use std::collections::BTreeMap;

use kube_core::ObjectMeta;
use serde::Serialize;
use serde_json::Value;

use super::{error::ManifestsError, settings::Manifests};

/// Where the objects are to be, which the forms of output decide.
pub(super) struct Placement {
    /// The namespace of the program.
    pub(super) namespace: String,
    /// The namespaces that it watches, by those of the manager.
    pub(super) watched: BTreeMap<String, String>,
    /// The value of `WATCH_NAMESPACES`.
    pub(super) watched_text: String,
}

impl Placement {
    /// Where the manager has them.
    pub(super) fn of(manifests: &Manifests) -> Self {
        let watched = &manifests.facts.watched_namespaces;
        let own = manifests.facts.watches_own_namespace.then(|| manifests.facts.namespace.clone());
        Self {
            namespace: manifests.facts.namespace.clone(),
            watched: watched.iter().map(|it| (it.clone(), it.clone())).collect(),
            watched_text: own.into_iter().chain(watched.iter().cloned()).collect::<Vec<_>>().join(","),
        }
    }
}

/// Objects in their order.
#[derive(Default)]
pub(super) struct Objects(Vec<Value>);

impl Objects {
    pub(super) fn into_list(self) -> Vec<Value> {
        self.0
    }

    pub(super) fn add(&mut self, object: &impl Serialize) -> Result<(), ManifestsError> {
        let encoded = serde_json::to_value(object);
        let reason = |reason| ManifestsError::Encoding { object: "an object".into(), reason };
        self.0.push(encoded.map_err(reason)?);
        Ok(())
    }
}

/// Name, namespace and labels of what has the name of the operator.
pub(super) fn metadata(manifests: &Manifests, placement: &Placement) -> ObjectMeta {
    ObjectMeta { namespace: Some(placement.namespace.clone()), ..cluster_metadata(manifests) }
}

/// The same of what has no namespace.
pub(super) fn cluster_metadata(manifests: &Manifests) -> ObjectMeta {
    ObjectMeta {
        name: Some(manifests.name.clone()),
        labels: Some(labels(manifests)),
        ..ObjectMeta::default()
    }
}

/// The labels by which the pods are selected.
pub(super) fn labels(manifests: &Manifests) -> BTreeMap<String, String> {
    [("app.kubernetes.io/name".to_owned(), manifests.name.clone())].into()
}

/// Kind, namespace and name of an object, such as `Role tools/checker`.
pub(super) fn title(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, metadata) = (text(&object["kind"]), &object["metadata"]);
    match metadata["namespace"].as_str() {
        None => format!("{kind} {}", text(&metadata["name"])),
        Some(namespace) => format!("{kind} {namespace}/{}", text(&metadata["name"])),
    }
}
