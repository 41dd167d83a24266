//! An immutable version of an object, as the bytes of its watch line.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Key;
use crate::object::meta::{self, Owner};

/// The type of a watch event about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    Added,
    Modified,
    Deleted,
}

impl EventType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// An immutable version of an object.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) key: Key,
    pub(crate) revision: u64,
    /// The change that made this version.
    pub(crate) event: EventType,
    pub(crate) uid: Box<str>,
    pub(crate) labels: Vec<(Box<str>, Box<str>)>,
    pub(crate) owners: Vec<Owner>,
    /// Whether it has a deletion timestamp.
    pub(crate) deleting: bool,
    /// The whole watch line of `event`.
    line: Bytes,
    /// The range of the object in `line`.
    object: Range<usize>,
    /// Offset of the comma after `apiVersion` and `kind`.
    tail: usize,
    /// The object as it was written, if reads see it differently.
    written: Option<Bytes>,
}

impl Stored {
    /// Serialises an object whose resourceVersion is set, `apiVersion` and `kind` first.
    pub(super) fn new(key: Key, revision: u64, event: EventType, object: &Value) -> Self {
        let mut line = Line::start(event, 512);
        let tail = write_object(&mut line.bytes, object);
        let (line, object_range) = line.end();
        Self {
            key,
            revision,
            event,
            uid: meta::text(object, "uid").unwrap_or_default().into(),
            labels: labels(object),
            owners: meta::owners(object),
            deleting: meta::is_deleting(object),
            line,
            object: object_range,
            tail,
            written: None,
        }
    }

    /// Serialises an object that was written as `written`, and that reads see as `seen`.
    pub(super) fn seen_as(
        key: Key,
        revision: u64,
        event: EventType,
        written: &Value,
        seen: Option<&Value>,
    ) -> Self {
        let Some(seen) = seen else { return Self::new(key, revision, event, written) };
        let mut bytes = Vec::new();
        write_object(&mut bytes, written);
        Self { written: Some(bytes.into()), ..Self::new(key, revision, event, seen) }
    }

    /// The same version, seen as `seen`.
    pub(crate) fn with_view(self, seen: &Value) -> Self {
        let written = Some(self.written());
        Self { written, ..Self::new(self.key, self.revision, self.event, seen) }
    }

    /// Reads what [`written`](Self::written) returned, at the revision in its metadata or else at `revision`. Only the metadata is parsed,
    /// which takes a fraction of the time of [`new`](Self::new).
    pub(crate) fn from_bytes(key: Key, revision: u64, object: &[u8]) -> serde_json::Result<Self> {
        let head: Option<Head<'_>> = serde_json::from_slice(object).ok();
        let head =
            head.map(|head| (type_members(&head.api_version.into(), &head.kind.into()), head.metadata));
        let Some((own_type, metadata)) = head.filter(|(own_type, _)| object.starts_with(own_type.as_bytes()))
        else {
            // Not written by a store: another order of fields, spaces, or metadata of another type.
            let object: Value = serde_json::from_slice(object)?;
            let revision = meta::revision(&object).unwrap_or(revision);
            return Ok(Self::new(key, revision, EventType::Added, &object));
        };
        let mut line = Line::start(EventType::Added, object.len() + 64);
        let tail = line.bytes.len() + own_type.len();
        line.bytes.extend_from_slice(object);
        let (line, object_range) = line.end();
        let labels = metadata.labels.into_iter();
        Ok(Self {
            key,
            revision: metadata.resource_version.and_then(|version| version.parse().ok()).unwrap_or(revision),
            event: EventType::Added,
            uid: metadata.uid.unwrap_or_default().into(),
            labels: labels.map(|(key, value)| (key.into(), value.into())).collect(),
            owners: metadata.owner_references.iter().map(meta::owner).collect(),
            deleting: metadata.deletion_timestamp.is_some(),
            line,
            object: object_range,
            tail,
            written: None,
        })
    }

    /// A version that is sent but not stored: of a dry run, or of an object that stopped matching a selector.
    pub(crate) fn preview(key: Key, object: &Value) -> Self {
        let revision = meta::revision(object).unwrap_or(0);
        Self::new(key, revision, EventType::Modified, object)
    }

    /// The object as stored JSON; shared, not copied.
    pub(crate) fn bytes(&self) -> Bytes {
        self.line.slice(self.object.clone())
    }

    /// The object as it was written; differs from [`bytes`](Self::bytes) when a schema drops fields of it or adds defaults.
    pub(crate) fn written(&self) -> Bytes {
        self.written.clone().unwrap_or_else(|| self.bytes())
    }

    /// Whether reads see it otherwise than it was written.
    pub(crate) fn has_view(&self) -> bool {
        self.written.is_some()
    }

    /// Whether it is stored in this version of its resource.
    pub(crate) fn is_version(&self, api_version: &str) -> bool {
        let head = br#"{"apiVersion":""#;
        let version = self.line[self.object.clone()].strip_prefix(head);
        let rest = version.and_then(|version| version.strip_prefix(api_version.as_bytes()));
        rest.is_some_and(|rest| rest.starts_with(b"\""))
    }

    /// The watch line of the change that made this version; shared, not copied.
    pub(crate) fn line(&self) -> Bytes {
        self.line.clone()
    }

    /// The object without its opening brace, apiVersion and kind: `,"metadata":{...}}`.
    pub(crate) fn tail(&self) -> &[u8] {
        &self.line[self.tail..self.object.end]
    }

    pub(crate) fn value(&self) -> Value {
        let bytes = &self.line[self.object.clone()];
        serde_json::from_slice(bytes).expect("invariant: the store holds only JSON that it wrote itself")
    }

    pub(super) fn written_value(&self) -> Value {
        serde_json::from_slice(&self.written())
            .expect("invariant: the store holds only JSON that it wrote itself")
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(k, _)| **k == *key).map(|(_, v)| &**v)
    }

    /// Approximate memory of this version in bytes.
    pub(crate) fn size(&self) -> usize {
        self.line.len() + self.written.as_ref().map_or(0, Bytes::len) + 200
    }
}

/// What [`Stored::from_bytes`] reads.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    metadata: HeadMetadata,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct HeadMetadata {
    uid: Option<String>,
    resource_version: Option<String>,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    owner_references: Vec<Value>,
}

/// A watch line under construction.
struct Line {
    bytes: Vec<u8>,
    start: usize,
}

impl Line {
    fn start(event: EventType, capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity);
        bytes.extend_from_slice(format!("{{\"type\":\"{}\",\"object\":", event.name()).as_bytes());
        Self { start: bytes.len(), bytes }
    }

    /// The line, and the range of the object in it.
    fn end(mut self) -> (Bytes, Range<usize>) {
        let object = self.start..self.bytes.len();
        self.bytes.extend_from_slice(b"}\n");
        (self.bytes.into(), object)
    }
}

/// The first members of every stored object.
fn type_members(api_version: &Value, kind: &Value) -> String {
    format!("{{\"apiVersion\":{api_version},\"kind\":{kind}")
}

fn write_object(out: &mut Vec<u8>, object: &Value) -> usize {
    let empty = serde_json::Map::new();
    let map = object.as_object().unwrap_or(&empty);
    let text = |key: &str| map.get(key).unwrap_or(&Value::Null);
    out.extend_from_slice(type_members(text("apiVersion"), text("kind")).as_bytes());
    let tail = out.len();
    for (key, value) in map.iter().filter(|(key, _)| *key != "apiVersion" && *key != "kind") {
        out.push(b',');
        write_json(out, key);
        out.push(b':');
        write_json(out, value);
    }
    out.push(b'}');
    tail
}

fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("invariant: a JSON value with string keys is written to memory");
}

fn labels(object: &Value) -> Vec<(Box<str>, Box<str>)> {
    let labels = object.get("metadata").and_then(|m| m.get("labels")).and_then(Value::as_object);
    let pairs = labels.into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_bytes_read_back_as_the_same_version() {
        let objects = [
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n", "uid": "u",
                "resourceVersion": "7", "labels": {"a/\u{1}": "x\"y"}, "deletionTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "o", "blockOwnerDeletion": true}]},
                "spec": {"n": 1.5}}),
            json!({"apiVersion": "x.y/v1", "kind": "Ü", "metadata": {"name": "a", "resourceVersion": "9"}}),
            json!({"metadata": {"name": "a"}}),
        ];
        for object in objects {
            let key = Key::new(None, "a");
            let stored =
                Stored::new(key.clone(), meta::revision(&object).unwrap_or(3), EventType::Added, &object);
            let read = Stored::from_bytes(key, 3, &stored.bytes()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{stored:?}"));
        }
    }

    #[test]
    fn bytes_of_another_layout_are_normalized() {
        let text = br#"{ "kind": "Pod", "metadata": {"resourceVersion": "4"}, "apiVersion": "v1" }"#;
        let read = Stored::from_bytes(Key::new(None, "a"), 3, text).unwrap();
        assert_eq!(read.bytes(), r#"{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"4"}}"#);
        assert_eq!((read.revision, read.tail()), (4, &br#","metadata":{"resourceVersion":"4"}}"#[..]));
        assert!(Stored::from_bytes(Key::new(None, "a"), 3, b"{").is_err());
    }
}
