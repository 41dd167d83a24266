//! From kept objects to decoded ones.

use super::object::CompactObject;
use crate::reflector::{Lookup, ObjectKey, store::Undecodable};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::client::{Prune, decode_object};
use kube_core::{PartialObjectMeta, Resource, TypeMeta, error_boundary::InvalidObject, object::DefaultTypes};
use quick_cache::{Weighter, sync::Cache};
use serde::de::DeserializeOwned;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

/// The memory of the objects that stay decoded: at most this, at least [`MIN_RECENT_BYTES`], and else a part of the JSON of all objects, so
/// that it does not outweigh what a small cache saves.
const RECENT_BYTES: u64 = 16 << 20;
const MIN_RECENT_BYTES: u64 = 256 << 10;
const RECENT_SHARE: u64 = 8;
/// At least this of each of many clusters.
const MIN_RECENT_OF_MEMBER: u64 = 16 << 10;
/// How many they are about.
const RECENT_OBJECTS: usize = 1024;
/// The memory of a typed object, as a multiple of its JSON.
const DECODED_RATIO: u64 = 2;

type Decode<K> = fn(&[u8], &DefaultTypes, &Prune) -> Result<K, Box<InvalidObject>>;

/// Decodes the objects of one cache. The recently used ones stay decoded.
pub(crate) struct Decoder<K> {
    /// Servers omit them in the items of a list.
    types: DefaultTypes,
    /// What is skipped, once the watch that fills the cache is known.
    prune: OnceLock<Prune>,
    decode: Decode<K>,
    /// By the id of the kept object.
    recent: Cache<u64, Recent<K>, Weight>,
    recent_bytes: AtomicU64,
}

struct Recent<K> {
    object: Arc<K>,
    weight: u64,
}

impl<K> Clone for Recent<K> {
    fn clone(&self) -> Self {
        Self { object: Arc::clone(&self.object), weight: self.weight }
    }
}

#[derive(Clone)]
struct Weight;

impl<K> Weighter<u64, Recent<K>> for Weight {
    fn weight(&self, _: &u64, recent: &Recent<K>) -> u64 {
        recent.weight
    }
}

impl<K> Decoder<K> {
    pub(super) fn new(dyntype: &<K as Lookup>::DynamicType) -> Self
    where
        K: Resource + DeserializeOwned,
    {
        let list = if K::metadata_api() {
            TypeMeta { api_version: "meta.k8s.io/v1".into(), kind: "PartialObjectMetadataList".into() }
        } else {
            let (api_version, kind) = (<K as Lookup>::api_version(dyntype), <K as Lookup>::kind(dyntype));
            TypeMeta { api_version: api_version.into_owned(), kind: format!("{kind}List") }
        };
        let types = DefaultTypes::of_list(&list);
        let recent = Cache::with_weighter(RECENT_OBJECTS, MIN_RECENT_BYTES, Weight);
        let recent_bytes = AtomicU64::new(MIN_RECENT_BYTES);
        Self { types, prune: OnceLock::new(), decode: decode_object::<K>, recent, recent_bytes }
    }

    /// The kept objects have about so many bytes of JSON in all. `caches`: how many are those of clusters that have one limit together.
    pub(super) fn limit_recent(&self, json_bytes: u64, caches: usize) {
        let most = (RECENT_BYTES / caches.max(1) as u64).max(MIN_RECENT_OF_MEMBER);
        let wanted = (json_bytes / RECENT_SHARE).max(MIN_RECENT_BYTES).next_power_of_two();
        let limit = wanted.min(1 << most.ilog2());
        if self.recent_bytes.swap(limit, Ordering::Relaxed) != limit {
            self.recent.set_capacity(limit);
        }
    }

    /// From now on, skips what `prune` skips.
    pub(super) fn prune(&self, prune: Prune) {
        self.prune.get_or_init(|| prune);
    }

    /// The decoded object. An error is logged.
    pub(super) fn decode(&self, object: &CompactObject) -> Result<Arc<K>, Undecodable> {
        if let Some(recent) = self.recent.get(&object.id()) {
            return Ok(recent.object);
        }
        let json = object.json();
        let decoded = match &json {
            Some(json) => self.decode_json(json).map_err(|invalid| invalid.error),
            None => Err("its compressed JSON is damaged".to_owned()),
        };
        let decoded = decoded.map_err(|error| {
            let object = ObjectKey::of(object).to_string();
            tracing::error!("object.ref" = %object, error, "an object in a compact cache cannot be decoded");
            Undecodable { object: object.into(), error: error.into() }
        })?;
        self.add_recent(object, &decoded);
        Ok(decoded)
    }

    /// Decodes an object before it is kept.
    pub(super) fn decode_json(&self, json: &[u8]) -> Result<Arc<K>, Box<InvalidObject>> {
        let prune = self.prune.get_or_init(Prune::default);
        (self.decode)(json, &self.types, prune).map(Arc::new)
    }

    /// Keeps an object decoded for a while.
    pub(super) fn add_recent(&self, object: &CompactObject, decoded: &Arc<K>) {
        let weight = DECODED_RATIO * object.json_len() as u64;
        self.recent.insert(object.id(), Recent { object: Arc::clone(decoded), weight });
    }

    /// The metadata, without the rest of the object and what is pruned. An error is logged.
    pub(super) fn metadata(&self, object: &CompactObject) -> Option<ObjectMeta> {
        let prune = self.prune.get_or_init(Prune::default);
        let decoded = decode_object::<PartialObjectMeta<K>>(&object.json()?, &self.types, prune);
        decoded
            .inspect_err(|invalid| {
                tracing::error!(error = invalid.error, ?object, "its metadata cannot be decoded")
            })
            .ok()
            .map(|decoded| decoded.metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::dictionary::Compressor, *};
    use crate::watcher::RawObject;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn the_objects_that_stay_decoded_are_limited_by_their_bytes() {
        let decoder = Decoder::<ConfigMap>::new(&());
        decoder.limit_recent(1 << 40, 1);
        let mut compressor = Compressor::default();
        let data = "x".repeat(100_000);
        for number in 0..200 {
            let json = format!(r#"{{"metadata":{{"name":"map-{number}"}},"data":{{"text":"{data}"}}}}"#);
            let raw: RawObject<_> = serde_json::from_str(&json).unwrap();
            let object = CompactObject::new(&raw, &json, &mut compressor, None);
            decoder.decode(&object).unwrap();
        }
        let (kept, weight) = (decoder.recent.len() as u64, decoder.recent.weight());
        assert!((40..=84).contains(&kept), "{kept} of 200 objects, each 200 KB decoded");
        assert!(weight <= RECENT_BYTES && weight > kept * 200_000, "{weight} bytes");
        // The cache has become small.
        decoder.limit_recent(2 << 20, 1);
        assert!(decoder.recent.weight() <= MIN_RECENT_BYTES, "{} bytes", decoder.recent.weight());
        // Many clusters have caches of this kind.
        for (caches, most) in [(1, RECENT_BYTES), (100, RECENT_BYTES / 100), (100_000, MIN_RECENT_OF_MEMBER)]
        {
            decoder.limit_recent(1 << 40, caches);
            let limit = decoder.recent_bytes.load(Ordering::Relaxed);
            assert!(limit <= most && limit > most / 2, "{caches}: {limit}");
        }
    }
}
