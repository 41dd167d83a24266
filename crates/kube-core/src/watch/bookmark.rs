//! Bookmarks: the progress of a watch.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    fields::{self, Fields},
    type_meta::TypeMeta,
};

/// The progress of a watch: all changes up to this resourceVersion have been sent.
///
/// On the wire it is an object of the watched kind with only these fields. Servers send one about once a minute, without a
/// guarantee.
///
/// ```
/// use kube_core::{DynamicObject, WatchEvent};
///
/// let line = r#"{"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {
///     "resourceVersion": "12746", "annotations": {"k8s.io/initial-events-end": "true"}}}}"#;
/// let WatchEvent::<DynamicObject>::Bookmark(bookmark) = serde_json::from_str(line)? else { panic!("a bookmark") };
/// assert_eq!(bookmark.metadata.resource_version, "12746");
/// assert!(bookmark.metadata.annotations.contains_key("k8s.io/initial-events-end"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize)]
pub struct Bookmark {
    /// The watched kind; empty if the server omitted it.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// The metadata, reduced to two fields: a bookmark has no name and no labels.
    pub metadata: BookmarkMeta,
}

/// The metadata of a [`Bookmark`].
///
/// ```
/// use kube_core::watch::BookmarkMeta;
/// let meta: BookmarkMeta = serde_json::from_str(r#"{"resourceVersion": "12746"}"#)?;
/// assert!(meta.resource_version == "12746" && meta.annotations.is_empty());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BookmarkMeta {
    /// The resourceVersion to resume a watch from: the `ver` of [`Request::watch`](crate::Request::watch).
    pub resource_version: String,
    /// Annotations; `k8s.io/initial-events-end: "true"` marks the end of the initial events.
    pub annotations: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for Bookmark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fields::decode(deserializer, Self::read)
    }
}

impl<'de> Deserialize<'de> for BookmarkMeta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fields::decode(deserializer, Self::read)
    }
}

impl Bookmark {
    fn read(fields: &Fields<'_>) -> Self {
        fields.require("metadata");
        let types = TypeMeta { api_version: fields.get("apiVersion"), kind: fields.get("kind") };
        Self { types, metadata: BookmarkMeta::read(&fields.object("metadata")) }
    }
}

impl BookmarkMeta {
    fn read(fields: &Fields<'_>) -> Self {
        fields.require("resourceVersion");
        Self { resource_version: fields.get("resourceVersion"), annotations: fields.get("annotations") }
    }
}
