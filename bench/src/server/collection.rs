//! The objects of the server, serialized once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use bytes::{Bytes, BytesMut};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use super::pods::pod;
use super::watches::Watches;
use crate::case::{Kind, Objects};

/// The size of a body frame.
pub(super) const CHUNK: usize = 64 << 10;
/// The resourceVersion of every list. The objects have lower ones, changes have higher ones.
pub(super) const LIST_VERSION: usize = 10_000_000;

pub(super) struct Collection {
    pub(super) kind: &'static str,
    pub(super) api_version: &'static str,
    make: fn(usize) -> Value,
    /// All objects, each followed by a comma. Lists are slices of it, events are copied from it while they are sent, so that the server
    /// holds each object once.
    objects: Bytes,
    /// The offset of each object in `objects`, and the end of the last one.
    bounds: Vec<usize>,
    /// The number of open connections.
    pub(super) connections: AtomicUsize,
    pub(super) watches: Watches,
    /// When the last list began, in nanoseconds since the epoch.
    pub(super) listed_at: AtomicU64,
}

impl Collection {
    pub(super) fn of(objects: &Objects) -> Self {
        let (kind, api_version, make): (_, _, fn(usize) -> Value) = match objects.kind {
            Kind::Pods => ("Pod", "v1", pod),
            Kind::ConfigMaps => ("ConfigMap", "v1", config_map),
            Kind::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1", metadata),
        };
        let largest = make(objects.count).to_string().len() + 1;
        let mut all = Vec::with_capacity(largest * objects.count);
        let mut bounds = Vec::with_capacity(objects.count + 1);
        bounds.push(0);
        for index in 0..objects.count {
            all.extend_from_slice(make(index).to_string().as_bytes());
            all.push(b',');
            bounds.push(all.len());
        }
        let (objects, connections, listed_at) = (all.into(), AtomicUsize::new(0), AtomicU64::new(0));
        Self { kind, api_version, make, objects, bounds, connections, watches: Watches::new(), listed_at }
    }

    pub(super) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The JSON of these objects, separated by commas.
    pub(super) fn range(&self, from: usize, to: usize) -> Bytes {
        let (start, end) = (self.bounds[from], self.bounds[to]);
        self.objects.slice(start..if start == end { end } else { end - 1 })
    }

    /// The object with this name, which ends with its number.
    pub(super) fn named(&self, name: &str) -> Option<Bytes> {
        let index = name.rsplit('-').next()?.parse().ok().filter(|index| *index < self.len())?;
        Some(self.range(index, index + 1))
    }

    /// All objects as ADDED events, one per line, in chunks.
    pub(super) fn events(self: &Arc<Self>) -> impl Iterator<Item = Bytes> + Send + use<> {
        let (collection, mut next) = (Arc::clone(self), 0);
        std::iter::from_fn(move || {
            let mut chunk = BytesMut::with_capacity(CHUNK);
            while next < collection.len() && chunk.len() < CHUNK {
                collection.add_event(&mut chunk, "ADDED", &collection.range(next, next + 1));
                next += 1;
            }
            (!chunk.is_empty()).then(|| chunk.freeze())
        })
    }

    /// A MODIFIED event, whose object contains the time at which it was made. Consecutive numbers are different objects.
    pub(super) fn change(&self, number: usize, now: u64) -> Bytes {
        // A prime: the changes are spread over the collection.
        let mut object = (self.make)(number * 7919 % self.len());
        object["metadata"]["resourceVersion"] = (LIST_VERSION + 1 + number).to_string().into();
        object["metadata"]["annotations"][crate::case::CHANGED_AT] = now.to_string().into();
        let mut line = BytesMut::new();
        self.add_event(&mut line, "MODIFIED", object.to_string().as_bytes());
        line.freeze()
    }

    /// Adds the line of an event. `object` has no kind, as in a list.
    fn add_event(&self, line: &mut BytesMut, change: &str, object: &[u8]) {
        for part in [r#"{"type":""#, change, r#"","object":{"kind":""#, self.kind, r#"","apiVersion":""#] {
            line.extend_from_slice(part.as_bytes());
        }
        line.extend_from_slice(self.api_version.as_bytes());
        line.extend_from_slice(b"\",");
        line.extend_from_slice(&object[1..]);
        line.extend_from_slice(b"}\n");
    }
}

/// 1 KB.
fn config_map(index: usize) -> Value {
    let mut object = metadata(index);
    object["data"] = json!({"key": "value", "text": "x".repeat(600)});
    object
}

/// A smaller one, for cases without this server.
pub(crate) fn typed_config_map(index: usize) -> ConfigMap {
    let mut object = ConfigMap::default();
    let metadata = &mut object.metadata;
    metadata.name = Some(format!("object-{index}"));
    metadata.namespace = Some("default".to_owned());
    metadata.resource_version = Some((1000 + index).to_string());
    object.data = Some([("text".to_owned(), "x".repeat(600))].into());
    object
}

/// The metadata of the objects of this server.
fn metadata(index: usize) -> Value {
    json!({
        "metadata": {
            "name": format!("object-{index}"),
            "namespace": "default",
            "uid": format!("5a1f6c0e-0000-4000-8000-{index:012}"),
            "resourceVersion": (1000 + index).to_string(),
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {"app.kubernetes.io/name": "bench", "app.kubernetes.io/instance": format!("i-{}", index % 7)},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(kind: Kind, count: usize) -> Arc<Collection> {
        Arc::new(Collection::of(&Objects::new(kind, count)))
    }

    fn lines(chunks: impl Iterator<Item = Bytes>) -> Vec<Value> {
        let bytes: Vec<u8> = chunks.flatten().collect();
        bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn lists_and_events_contain_each_object_once() {
        for kind in [Kind::Pods, Kind::ConfigMaps, Kind::Metadata] {
            let collection = collection(kind, 300);
            let list = [b"[", &collection.range(0, 300)[..], b"]"].concat();
            let objects: Vec<Value> = serde_json::from_slice(&list).unwrap();
            let events = lines(collection.events());
            assert_eq!((objects.len(), events.len()), (300, 300));
            for (object, event) in objects.iter().zip(&events) {
                assert_eq!(event["type"], "ADDED");
                assert_eq!(event["object"]["kind"], collection.kind);
                assert_eq!(event["object"]["apiVersion"], collection.api_version);
                assert_eq!(event["object"]["metadata"], object["metadata"]);
            }
            assert!(collection.range(7, 7).is_empty());
        }
    }

    #[test]
    fn objects_are_found_by_name() {
        let collection = collection(Kind::Pods, 20);
        for index in [0, 19] {
            let object: Value = serde_json::from_slice(&collection.range(index, index + 1)).unwrap();
            let name = object["metadata"]["name"].as_str().unwrap();
            assert_eq!(collection.named(name), Some(collection.range(index, index + 1)));
        }
        assert_eq!(collection.named("checkout-20"), None);
        assert_eq!(collection.named("checkout"), None);
    }

    #[test]
    fn a_change_has_its_time_and_a_newer_version() {
        let collection = collection(Kind::ConfigMaps, 10);
        let changes = lines((0..10).map(|number| collection.change(number, 5)));
        let mut names: Vec<_> = changes.iter().map(|change| &change["object"]["metadata"]["name"]).collect();
        names.sort_by_key(|name| name.to_string());
        names.dedup();
        assert_eq!(names.len(), 10, "all objects");
        for (number, change) in changes.iter().enumerate() {
            assert_eq!(change["type"], "MODIFIED");
            let metadata = &change["object"]["metadata"];
            assert_eq!(metadata["annotations"][crate::case::CHANGED_AT], "5");
            assert_eq!(metadata["resourceVersion"], (LIST_VERSION + 1 + number).to_string());
        }
    }
}
