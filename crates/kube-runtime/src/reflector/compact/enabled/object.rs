//! An object as a compact cache keeps it.

use super::dictionary::{Compressor, Needed, Source, decompress};
use crate::{reflector::Lookup, watcher::RawObject};
use kube_core::{Resource, ResourceExt};
use parking_lot::Mutex;
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
    /// What the decompression needs.
    needed: Mutex<Option<Arc<Needed>>>,
    /// The lengths of the parts (`u32`, little-endian), the parts, and the compressed JSON.
    bytes: Box<[u8]>,
}

/// The parts before the compressed JSON. The first number is the length of the JSON.
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
/// The length of a part that does not exist.
const NONE: u32 = u32::MAX;

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
        compressor: &mut Compressor,
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
        let (compressed, dictionary) = compressor.compress(json, source);
        let json_length = [length(json.len())];
        let lengths = parts.iter().map(|part| part.map_or(NONE, |text| length(text.len())));
        let mut bytes = Vec::with_capacity(
            LENGTHS * size_of::<u32>()
                + parts.iter().flatten().map(|text| text.len()).sum::<usize>()
                + compressed.len(),
        );
        json_length
            .into_iter()
            .chain(lengths)
            .for_each(|length| bytes.extend_from_slice(&length.to_le_bytes()));
        parts.iter().flatten().for_each(|text| bytes.extend_from_slice(text.as_bytes()));
        bytes.extend_from_slice(compressed);
        Self { id: IDS.fetch_add(1, Ordering::Relaxed), needed: Mutex::new(dictionary), bytes: bytes.into() }
    }

    /// Different for different states of different objects.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// The length of the JSON.
    pub(super) fn json_len(&self) -> usize {
        self.length(0).unwrap_or_default()
    }

    /// The received JSON. `None` only if memory was damaged.
    pub(super) fn json(&self) -> Option<Vec<u8>> {
        let needed = self.needed.lock().clone();
        if let Some(Needed::Anew { bytes, dictionary }) = needed.as_deref() {
            return decompress(bytes, self.json_len(), dictionary.as_deref());
        }
        let parts: usize = (1..LENGTHS).filter_map(|part| self.length(part)).sum();
        let compressed = self.bytes.get(LENGTHS * size_of::<u32>() + parts..)?;
        decompress(compressed, self.json_len(), needed.as_deref())
    }

    /// Compresses it anew if it needs a dictionary whose text was forgotten. The compressed bytes of before stay, without that.
    pub(super) fn compress_anew(&self, compressor: &mut Compressor, source: &Arc<Source>) {
        let is_outdated = self.needed.lock().as_deref().is_some_and(|needed| compressor.is_outdated(needed));
        let json = if is_outdated { self.json() } else { None };
        let Some(json) = json.and_then(|json| String::from_utf8(json).ok()) else { return };
        let (bytes, dictionary) = compressor.compress(&json, Some(source));
        let anew = Needed::Anew { bytes: bytes.into(), dictionary };
        let before = self.needed.lock().replace(Arc::new(anew));
        drop(before); // without the lock
    }

    pub(super) fn selection(&self) -> Selection {
        let text = self.part(Part::Selection).filter(|text| !text.is_empty());
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    fn length(&self, part: usize) -> Option<usize> {
        let (lengths, _) = self.bytes.as_chunks::<{ size_of::<u32>() }>();
        let length = u32::from_le_bytes(*lengths.get(part)?);
        (length != NONE).then_some(length as usize)
    }

    fn part(&self, part: Part) -> Option<&str> {
        let length = self.length(part as usize)?;
        let before: usize = (1..part as usize).filter_map(|part| self.length(part)).sum();
        let start = LENGTHS * size_of::<u32>() + before;
        std::str::from_utf8(self.bytes.get(start..start + length)?).ok()
    }
}

/// A length of JSON, which is below 4 GiB: the client limits responses.
fn length(length: usize) -> u32 {
    length.try_into().expect("invariant: an object has less than 4 GiB")
}

impl Clone for CompactObject {
    fn clone(&self) -> Self {
        Self { id: self.id, needed: Mutex::new(self.needed.lock().clone()), bytes: self.bytes.clone() }
    }
}

impl fmt::Debug for CompactObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompactObject")
            .field("namespace", &self.part(Part::Namespace))
            .field("name", &self.part(Part::Name))
            .field("resource_version", &self.part(Part::Version))
            .field("bytes", &self.bytes.len())
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
        CompactObject::new(&raw, json, &mut Compressor::default(), None)
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
}
