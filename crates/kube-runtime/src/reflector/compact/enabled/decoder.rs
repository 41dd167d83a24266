//! From kept objects to decoded ones.

use super::{
    object::CompactObject,
    recent::{Recent, RecentObjects, RecentOfCache},
};
use crate::reflector::{Lookup, ObjectKey, store::Undecodable};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::client::{Prune, decode_object};
use kube_core::{PartialObjectMeta, Resource, TypeMeta, error_boundary::InvalidObject, object::DefaultTypes};
use serde::de::DeserializeOwned;
use std::sync::{Arc, OnceLock};

type Decode<K> = fn(&[u8], &DefaultTypes, &Prune) -> Result<K, Box<InvalidObject>>;

/// Decodes the objects of one cache. The recently used ones stay decoded.
pub(crate) struct Decoder<K> {
    /// Servers omit them in the items of a list.
    types: DefaultTypes,
    /// What is skipped, once the watch that fills the cache is known.
    prune: OnceLock<Prune>,
    decode: Decode<K>,
    recent: Box<dyn Recent<K>>,
}

impl<K> Decoder<K> {
    pub(super) fn new(dyntype: &<K as Lookup>::DynamicType, recent: Arc<RecentObjects>) -> Self
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
    {
        let list = if K::metadata_api() {
            TypeMeta { api_version: "meta.k8s.io/v1".into(), kind: "PartialObjectMetadataList".into() }
        } else {
            let (api_version, kind) = (<K as Lookup>::api_version(dyntype), <K as Lookup>::kind(dyntype));
            TypeMeta { api_version: api_version.into_owned(), kind: format!("{kind}List") }
        };
        let types = DefaultTypes::of_list(&list);
        let recent = Box::new(RecentOfCache::new(recent));
        Self { types, prune: OnceLock::new(), decode: decode_object::<K>, recent }
    }

    /// The kept objects have about so many bytes of JSON in all.
    pub(super) fn count(&self, json_bytes: u64) {
        self.recent.count(json_bytes);
    }

    /// From now on, skips what `prune` skips.
    pub(super) fn prune(&self, prune: Prune) {
        self.prune.get_or_init(|| prune);
    }

    /// The decoded object. An error is logged.
    pub(super) fn decode(&self, object: &CompactObject) -> Result<Arc<K>, Undecodable> {
        if let Some(recent) = self.recent.get(object.id()) {
            return Ok(recent);
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
        self.recent.add(object.id(), decoded, object.json_len());
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
