//! An object as a compact cache keeps it.

use super::{
    compression::Compressed,
    dictionary::{Compressor, Source},
};
use crate::{reflector::Lookup, watcher::RawObject};
use kube_core::{Resource, ResourceExt};
use parking_lot::RwLock;
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The metadata that select an object, as text, and its compressed JSON.
pub(crate) struct CompactObject {
    /// Clones have the same.
    id: u64,
    /// The lengths of the JSON and of the parts, and the parts. A length is one more than it says, and 0 if there is no such part; 7 bits
    /// of it are in a byte, the lowest first, and the highest bit says that others follow.
    head: Box<[u8]>,
    json: RwLock<Compressed>,
}

/// The parts of the head. The first length is that of the JSON.
#[derive(Clone, Copy)]
enum Part {
    Namespace = 1,
    Name,
    Uid,
    Version,
    /// Labels and owners as JSON; empty if there are none.
    Selection,
}

/// How many lengths there are.
const LENGTHS: usize = 6;

/// The labels, and the uids of the owners.
#[derive(serde::Deserialize, Default)]
pub(super) struct Selection {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) owners: Vec<String>,
}

impl CompactObject {
    /// `object` has the metadata of the object whose JSON this is.
    pub(super) fn new(
        object: &RawObject<Self>,
        json: &str,
        compressor: &Compressor,
        source: Option<&Arc<Source>>,
    ) -> Self {
        static IDS: AtomicU64 = AtomicU64::new(0);

        let meta = object.meta();
        let owners: Vec<_> = object.owner_references().iter().map(|owner| &owner.uid).collect();
        let selection = if object.labels().is_empty() && owners.is_empty() {
            Some(String::new())
        } else {
            Some(serde_json::json!([object.labels(), owners]).to_string())
        };
        let parts = [&meta.namespace, &meta.name, &meta.uid, &meta.resource_version, &selection]
            .map(Option::as_deref);
        let compressed = compressor.compress(json, source);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        Self { id, head: head(json.len(), &parts), json: RwLock::new(compressed) }
    }

    /// Different for different states of different objects.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The length of the JSON.
    pub(super) fn json_len(&self) -> usize {
        let (lengths, _) = lengths(&self.head);
        lengths[0].unwrap_or_default()
    }

    /// The received JSON. `None` only if memory was damaged.
    pub(super) fn json(&self) -> Option<Vec<u8>> {
        self.json.read().text(self.json_len())
    }

    /// Compresses it anew if it needs a dictionary whose text was forgotten. Returns whether it did.
    pub(super) fn compress_anew(&self, compressor: &Compressor, source: &Arc<Source>) -> bool {
        if !compressor.is_outdated(&self.json.read()) {
            return false;
        }
        let Some(json) = self.json().and_then(|json| String::from_utf8(json).ok()) else { return false };
        let anew = compressor.compress(&json, Some(source));
        let before = std::mem::replace(&mut *self.json.write(), anew);
        drop(before); // without the lock
        true
    }

    pub(super) fn selection(&self) -> Selection {
        let text = self.part(Part::Selection).filter(|text| !text.is_empty());
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    fn part(&self, part: Part) -> Option<&str> {
        let (lengths, parts) = lengths(&self.head);
        let start: usize = lengths[1..part as usize].iter().flatten().sum();
        std::str::from_utf8(parts.get(start..start + lengths[part as usize]?)?).ok()
    }
}

/// What an object has before its compressed JSON.
fn head(json_len: usize, parts: &[Option<&str>; LENGTHS - 1]) -> Box<[u8]> {
    let mut head = Vec::with_capacity(16 + parts.iter().flatten().map(|text| text.len()).sum::<usize>());
    let lengths = parts.iter().map(|part| part.map(str::len));
    for length in [Some(json_len)].into_iter().chain(lengths) {
        let mut left = length.map_or(0, |length| length + 1);
        while left > 0x7f {
            head.push(left as u8 | 0x80);
            left >>= 7;
        }
        head.push(left as u8);
    }
    parts.iter().flatten().for_each(|text| head.extend_from_slice(text.as_bytes()));
    head.into()
}

/// The lengths of JSON and parts, and the parts.
fn lengths(head: &[u8]) -> ([Option<usize>; LENGTHS], &[u8]) {
    let mut bytes = head.iter();
    let lengths = std::array::from_fn(|_| {
        let (mut length, mut shift) = (0_usize, 0);
        for byte in bytes.by_ref() {
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        length.checked_sub(1)
    });
    (lengths, bytes.as_slice())
}

impl Clone for CompactObject {
    fn clone(&self) -> Self {
        Self { id: self.id, head: self.head.clone(), json: RwLock::new(self.json.read().clone()) }
    }
}

impl fmt::Debug for CompactObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompactObject")
            .field("namespace", &self.part(Part::Namespace))
            .field("name", &self.part(Part::Name))
            .field("resource_version", &self.part(Part::Version))
            .field("bytes", &self.json.read().bytes.len())
            .finish()
    }
}

/// For the tables and watermarks of the cache, which know the kind.
impl Lookup for CompactObject {
    type DynamicType = ();

    fn kind((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        self.part(Part::Name).map(Cow::Borrowed)
    }

    fn namespace(&self) -> Option<Cow<'_, str>> {
        self.part(Part::Namespace).map(Cow::Borrowed)
    }

    fn resource_version(&self) -> Option<Cow<'_, str>> {
        self.part(Part::Version).map(Cow::Borrowed)
    }

    fn uid(&self) -> Option<Cow<'_, str>> {
        self.part(Part::Uid).map(Cow::Borrowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compact(json: &str) -> CompactObject {
        let raw: RawObject<_> = serde_json::from_str(json).unwrap();
        CompactObject::new(&raw, json, &Compressor::default(), None)
    }

    #[test]
    fn it_has_the_metadata_and_the_json_as_received() {
        let json = r#"{"kind":"Pod", "metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7",
            "labels":{"app":"wéb \"x\""},"ownerReferences":[{"uid":"o1","kind":"X","name":"y","apiVersion":"v1"},{"uid":"o2"}],
            "managedFields":[{"manager":"m"}]},"spec":{"a":[1,2]}}"#;
        let object = compact(json);
        assert_eq!((object.name(), object.namespace()), (Some("a".into()), Some("ns".into())));
        assert_eq!((object.uid(), object.resource_version()), (Some("u".into()), Some("7".into())));
        let Selection { labels, owners } = object.selection();
        assert_eq!(labels, BTreeMap::from([("app".to_owned(), "wéb \"x\"".to_owned())]));
        assert_eq!(owners, ["o1", "o2"]);
        assert_eq!(object.json().unwrap(), json.as_bytes());
        assert_eq!(object.clone().id(), object.id());
        assert_ne!(compact(json).id(), object.id());
        assert!(format!("{object:?}").contains(r#"name: Some("a")"#));
    }

    #[test]
    fn metadata_may_be_missing() {
        for json in ["{}", r#"{"metadata":{}}"#] {
            let object = compact(json);
            assert_eq!((object.name(), object.namespace(), object.uid()), (None, None, None));
            let Selection { labels, owners } = object.selection();
            assert!(labels.is_empty() && owners.is_empty());
            assert_eq!(object.json().unwrap(), json.as_bytes());
        }
        let cluster_scoped = compact(r#"{"metadata":{"name":"n","namespace":""}}"#);
        assert_eq!(cluster_scoped.namespace(), Some("".into()));
    }

    #[test]
    fn lengths_may_have_several_bytes() {
        for length in [0, 1, 126, 127, 128, 16_382, 16_383, 70_000] {
            let (namespace, uid) = ("n".repeat(length), "u".repeat(length / 2));
            let json = format!(r#"{{"metadata":{{"namespace":"{namespace}","uid":"{uid}"}}}}"#);
            let object = compact(&json);
            assert_eq!((object.name(), object.resource_version()), (None, None));
            assert_eq!((object.namespace(), object.uid()), (Some(namespace.into()), Some(uid.into())));
            assert_eq!(object.json().unwrap(), json.as_bytes());
        }
    }
}
