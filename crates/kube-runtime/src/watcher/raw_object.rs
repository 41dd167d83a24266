//! An object as it was received.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_core::{ApiResource, DynamicResourceScope, Resource};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::BTreeMap};

/// The JSON of an object, and the metadata by which a cache selects it.
#[derive(Clone, Debug)]
pub(crate) struct RawObject {
    /// Name, namespace, uid, resourceVersion, labels and owners. Nothing else.
    metadata: ObjectMeta,
    json: Box<RawValue>,
}

impl RawObject {
    pub(crate) fn json(&self) -> &str {
        self.json.get()
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let metadata = serde_json::from_str::<Head>(json.get()).map_err(D::Error::custom)?.metadata;
        Ok(Self { metadata: metadata.into(), json })
    }
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    metadata: Selection,
}

/// The metadata that select an object. All other fields are skipped without being checked.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Selection {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

impl From<Selection> for ObjectMeta {
    fn from(selection: Selection) -> Self {
        Self {
            name: selection.name,
            namespace: selection.namespace,
            uid: selection.uid,
            resource_version: selection.resource_version,
            labels: selection.labels,
            owner_references: selection.owner_references,
            ..Self::default()
        }
    }
}

/// For the watcher, which looks only at the metadata.
impl Resource for RawObject {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
