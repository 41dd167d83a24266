//! The events of a watch.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;

use super::Bookmark;
use crate::response::Status;

/// An event of a watch, on the wire `{"type": ..., "object": ...}`.
///
/// Servers send the type first, so that the object is decoded directly into `K`; the reverse order costs one intermediate
/// JSON value. Debug prints the type of the event but not the object.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::{ResourceExt, WatchEvent};
///
/// let line = br#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0"}}}"#;
/// match serde_json::from_slice(line)? {
///     WatchEvent::<Pod>::Added(pod) | WatchEvent::Modified(pod) => assert_eq!(pod.name_any(), "web-0"),
///     WatchEvent::Deleted(pod) => println!("{} is gone", pod.name_any()),
///     WatchEvent::Bookmark(bookmark) => println!("up to {}", bookmark.metadata.resource_version),
///     WatchEvent::Error(status) if status.code == 410 => println!("relist: {status}"),
///     WatchEvent::Error(status) => println!("watch again later: {status}"),
/// }
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize)]
#[serde(tag = "type", content = "object", rename_all = "UPPERCASE")]
pub enum WatchEvent<K> {
    /// The object is new, existed when the watch started, or now matches the selectors.
    Added(K),
    /// The object has changed, and still matches the selectors.
    Modified(K),
    /// The object is deleted, or no longer matches the selectors. This is its last state, with the resourceVersion of the
    /// deletion.
    Deleted(K),
    /// No change: a resourceVersion to resume from.
    Bookmark(Bookmark),
    /// The watch failed and ends; code 410 if its resourceVersion is too old. The HTTP status of the response is 200
    /// nevertheless.
    Error(Box<Status>),
}

impl<K> fmt::Debug for WatchEvent<K> {
    /// Prints the type of the event, not the object, because `K` need not implement Debug.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(_) => f.write_str("Added"),
            Self::Modified(_) => f.write_str("Modified"),
            Self::Deleted(_) => f.write_str("Deleted"),
            Self::Bookmark(bookmark) => {
                f.debug_tuple("Bookmark").field(&bookmark.metadata.resource_version).finish()
            }
            Self::Error(status) => f.debug_tuple("Error").field(status).finish(),
        }
    }
}

impl<'de, K: Deserialize<'de>> Deserialize<'de> for WatchEvent<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("WatchEvent", &["type", "object"], EventVisitor(PhantomData))
    }
}

/// The type of an event on the wire.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum EventType {
    /// [`WatchEvent::Added`].
    Added,
    /// [`WatchEvent::Modified`].
    Modified,
    /// [`WatchEvent::Deleted`].
    Deleted,
    /// [`WatchEvent::Bookmark`].
    Bookmark,
    /// [`WatchEvent::Error`].
    Error,
}

/// A field of an event on the wire.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EventField {
    /// The [`EventType`].
    Type,
    /// The object, bookmark or status.
    Object,
    /// Anything else, which is ignored.
    #[serde(other)]
    Other,
}

struct EventVisitor<K>(PhantomData<K>);

impl<'de, K: Deserialize<'de>> Visitor<'de> for EventVisitor<K> {
    type Value = WatchEvent<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a watch event with `type` and `object`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WatchEvent<K>, A::Error> {
        let (mut kind, mut buffered, mut event) = (None, None::<Value>, None);
        while let Some(field) = map.next_key()? {
            match (field, kind) {
                (EventField::Type, _) => kind = Some(map.next_value::<EventType>()?),
                (EventField::Object, Some(kind)) => event = Some(from_map(kind, &mut map)?),
                (EventField::Object, None) => buffered = Some(map.next_value()?),
                (EventField::Other, _) => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match (event, kind, buffered) {
            (Some(event), _, _) => Ok(event),
            (None, Some(kind), Some(object)) => from_value(kind, object).map_err(A::Error::custom),
            (None, None, _) => Err(A::Error::missing_field("type")),
            (None, Some(_), None) => Err(A::Error::missing_field("object")),
        }
    }
}

fn from_map<'de, K: Deserialize<'de>, A: MapAccess<'de>>(
    kind: EventType,
    map: &mut A,
) -> Result<WatchEvent<K>, A::Error> {
    Ok(match kind {
        EventType::Added => WatchEvent::Added(map.next_value()?),
        EventType::Modified => WatchEvent::Modified(map.next_value()?),
        EventType::Deleted => WatchEvent::Deleted(map.next_value()?),
        EventType::Bookmark => WatchEvent::Bookmark(map.next_value()?),
        EventType::Error => WatchEvent::Error(map.next_value()?),
    })
}

fn from_value<'de, K: Deserialize<'de>>(
    kind: EventType,
    object: Value,
) -> Result<WatchEvent<K>, serde_json::Error> {
    Ok(match kind {
        EventType::Added => WatchEvent::Added(K::deserialize(object)?),
        EventType::Modified => WatchEvent::Modified(K::deserialize(object)?),
        EventType::Deleted => WatchEvent::Deleted(K::deserialize(object)?),
        EventType::Bookmark => WatchEvent::Bookmark(Bookmark::deserialize(object)?),
        EventType::Error => WatchEvent::Error(Box::deserialize(object)?),
    })
}
