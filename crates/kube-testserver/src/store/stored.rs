use std::ops::Range;

use bytes::Bytes;
use serde_json::Value;

use super::Key;
use crate::meta::{self, Owner};

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
    /// The whole watch line of `event`.
    line: Bytes,
    /// The range of the object in `line`.
    object: Range<usize>,
    /// Offset of the comma after `apiVersion` and `kind`.
    tail: usize,
}

impl Stored {
    /// Serialises an object whose resourceVersion is set, `apiVersion` and `kind` first.
    pub(super) fn new(key: Key, revision: u64, event: EventType, object: &Value) -> Self {
        let mut line = Vec::with_capacity(512);
        line.extend_from_slice(format!("{{\"type\":\"{}\",\"object\":", event.name()).as_bytes());
        let start = line.len();
        let tail = write_object(&mut line, object);
        let end = line.len();
        line.extend_from_slice(b"}\n");
        Self {
            key,
            revision,
            event,
            uid: meta::text(object, "uid").unwrap_or_default().into(),
            labels: labels(object),
            owners: meta::owners(object),
            line: line.into(),
            object: start..end,
            tail,
        }
    }

    /// A version that is sent but not stored: of a dry run, or of an object that stopped matching a selector.
    pub(crate) fn preview(key: Key, object: &Value) -> Self {
        let revision =
            meta::text(object, "resourceVersion").and_then(|version| version.parse().ok()).unwrap_or(0);
        Self::new(key, revision, EventType::Modified, object)
    }

    /// The object as stored JSON; shared, not copied.
    pub(crate) fn bytes(&self) -> Bytes {
        self.line.slice(self.object.clone())
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

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(k, _)| **k == *key).map(|(_, v)| &**v)
    }

    /// Approximate memory of this version in bytes.
    pub(crate) fn size(&self) -> usize {
        self.line.len() + 200
    }
}

fn write_object(out: &mut Vec<u8>, object: &Value) -> usize {
    let empty = serde_json::Map::new();
    let map = object.as_object().unwrap_or(&empty);
    let text = |key: &str| map.get(key).cloned().unwrap_or_default();
    out.extend_from_slice(
        format!("{{\"apiVersion\":{},\"kind\":{}", text("apiVersion"), text("kind")).as_bytes(),
    );
    let tail = out.len();
    for (key, value) in map.iter().filter(|(key, _)| *key != "apiVersion" && *key != "kind") {
        out.extend_from_slice(format!(",{}:", Value::from(key.as_str())).as_bytes());
        serde_json::to_writer(&mut *out, value)
            .expect("invariant: a JSON value with string keys is written to memory");
    }
    out.push(b'}');
    tail
}

fn labels(object: &Value) -> Vec<(Box<str>, Box<str>)> {
    let labels = object.get("metadata").and_then(|m| m.get("labels")).and_then(Value::as_object);
    let pairs = labels.into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into()))).collect()
}
