//! Bookmarks: the progress of a watch.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::type_meta::TypeMeta;

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
#[derive(Clone, Serialize, Deserialize)]
pub struct Bookmark {
    /// The watched kind; empty if the server omitted it.
    #[serde(flatten, deserialize_with = "types_or_empty")]
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
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BookmarkMeta {
    /// The resourceVersion to resume a watch from: the `ver` of [`Request::watch`](crate::Request::watch).
    pub resource_version: String,
    /// Annotations; `k8s.io/initial-events-end: "true"` marks the end of the initial events.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// Unlike [`TypeMeta`], either part may be missing.
fn types_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TypeMeta, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Types {
        api_version: String,
        kind: String,
    }

    let Types { api_version, kind } = Types::deserialize(deserializer)?;
    Ok(TypeMeta { api_version, kind })
}
