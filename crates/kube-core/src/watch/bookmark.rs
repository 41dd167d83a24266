//! Bookmarks: how far a watch has come.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::type_meta::TypeMeta;

/// How far a watch has come: everything up to this resource version has been sent.
///
/// On the wire it is an object of the kind that is watched with nothing but these fields. Servers send one about once a
/// minute, and at no fixed time.
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
#[serde(from = "BookmarkWire")]
pub struct Bookmark {
    /// The kind that is watched; empty where the server left it out.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// The two pieces of metadata that a bookmark has: no name, no labels.
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
    /// Where a new watch can go on: the `ver` of [`Request::watch`](crate::Request::watch).
    pub resource_version: String,
    /// Annotations; `k8s.io/initial-events-end: "true"` marks the end of the initial events.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// The wire form of a bookmark, in which the type may be left out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkWire {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    metadata: BookmarkMeta,
}

impl From<BookmarkWire> for Bookmark {
    fn from(BookmarkWire { api_version, kind, metadata }: BookmarkWire) -> Self {
        Self { types: TypeMeta { api_version, kind }, metadata }
    }
}
