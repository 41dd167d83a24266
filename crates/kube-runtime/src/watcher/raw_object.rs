//! An object as it was received, or as a cache already keeps it.

use super::delivered::{ContentHash, Received};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_core::{ApiResource, DynamicResourceScope, Resource};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::BTreeMap, fmt::Debug, sync::Arc};

/// An object and the metadata by which a cache selects it. `T` is what the cache keeps of an object.
#[derive(Clone, Debug)]
pub(crate) struct RawObject<T> {
    /// Name, namespace, uid, resourceVersion, labels and owners. Nothing else; of a [kept](Self::kept) object, only the first four.
    metadata: ObjectMeta,
    content: RawContent<T>,
    content_hash: Option<ContentHash>,
}

#[derive(Clone, Debug)]
pub(crate) enum RawContent<T> {
    Json(Box<RawValue>),
    /// The cache keeps this state of the object already.
    Kept(Arc<T>),
}

impl<T> RawObject<T> {
    /// An object that the cache keeps in this state, with its name, namespace, uid and resourceVersion.
    pub(crate) fn kept(metadata: ObjectMeta, object: Arc<T>) -> Self {
        Self { metadata, content: RawContent::Kept(object), content_hash: None }
    }

    /// An object that the cache keeps in this state, with the metadata of its JSON.
    pub(crate) fn kept_as_received(json: &[u8], object: Arc<T>) -> serde_json::Result<Self> {
        let metadata = serde_json::from_slice::<Head>(json)?.metadata;
        Ok(Self::kept(metadata.into(), object))
    }

    pub(crate) fn content(&self) -> &RawContent<T> {
        &self.content
    }
}

impl<'de, T> Deserialize<'de> for RawObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let metadata = serde_json::from_str::<Head>(json.get()).map_err(D::Error::custom)?.metadata;
        Ok(Self { metadata: metadata.into(), content: RawContent::Json(json), content_hash: None })
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

impl<T> Received for RawObject<T> {
    fn content_hash(&self) -> Option<ContentHash> {
        self.content_hash
    }

    fn set_content_hash(&mut self, hash: ContentHash) {
        self.content_hash = Some(hash);
    }
}

/// For the watcher, which looks only at the metadata.
impl<T> Resource for RawObject<T> {
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
