//! Reads a compact cache: finds the compressed objects, and decodes those that are returned.

use super::{decoder::Decoder, object::CompactObject, recent::RecentObjects};
use crate::reflector::{
    Index, Lookup,
    index::{AnyIndex, IndexId, pair},
    store::{Shared, Undecodable},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{Resource, Selector, SelectorExt};
use serde::de::DeserializeOwned;
use std::{any::Any, borrow::Borrow, hash::Hash, sync::Arc};

/// The objects of a compact cache, and what decodes them.
pub(crate) struct CompactCache<K: Lookup> {
    pub(in crate::reflector) shared: Arc<Shared<CompactObject>>,
    pub(super) decoder: Arc<Decoder<K>>,
    dyntype: Arc<K::DynamicType>,
}

impl<K: Lookup> Clone for CompactCache<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            decoder: Arc::clone(&self.decoder),
            dyntype: Arc::clone(&self.dyntype),
        }
    }
}

impl<K: Lookup + 'static> CompactCache<K> {
    pub(super) fn new(
        shared: &Arc<Shared<CompactObject>>,
        dyntype: <K as Lookup>::DynamicType,
        recent: Arc<RecentObjects>,
    ) -> Self
    where
        K: Resource + DeserializeOwned + Send + Sync,
    {
        let decoder = Arc::new(Decoder::new(&dyntype, recent));
        Self { shared: Arc::clone(shared), decoder, dyntype: Arc::new(dyntype) }
    }

    pub(in crate::reflector) fn dyntype(&self) -> &K::DynamicType {
        &self.dyntype
    }

    /// An error is logged.
    pub(crate) fn decode(&self, object: &CompactObject) -> Result<Arc<K>, Undecodable> {
        self.decoder.decode(object)
    }

    pub(in crate::reflector) fn decode_found(
        &self,
        object: Option<Arc<CompactObject>>,
    ) -> Result<Option<Arc<K>>, Undecodable> {
        object.map(|object| self.decode(&object)).transpose()
    }

    /// Decodes each object when the iterator reaches it. Undecodable objects are left out, with an error in the log.
    pub(in crate::reflector) fn decode_all(
        &self,
        objects: Vec<Arc<CompactObject>>,
    ) -> impl Iterator<Item = Arc<K>> {
        objects.into_iter().filter_map(|object| self.decode(&object).ok())
    }

    /// The objects whose labels match. Decodes only those.
    pub(in crate::reflector) fn selected_by(&self, selector: &Selector) -> Vec<Arc<K>> {
        let mut candidates = self.shared.candidates(selector);
        candidates.retain(|object| selector.matches(&object.selection().labels));
        self.decode_all(candidates).collect()
    }

    /// The objects that have this key in this index.
    pub(in crate::reflector) fn by_index<T, Q>(&self, index: &Index<K, T>, key: &Q) -> Vec<Arc<K>>
    where
        T: Borrow<Q> + Eq + Hash + 'static,
        Q: Eq + Hash + ?Sized,
    {
        let objects = self.shared.indexed::<T, Q>(index.id(), key).unwrap_or_else(|| {
            let mut objects = self.shared.snapshot();
            objects.retain(|object| {
                keys(&self.decoder, index, object).iter().any(|of_object| of_object.borrow() == key)
            });
            objects
        });
        self.decode_all(objects).collect()
    }

    /// Declares an index. See [`Store::add_index`](crate::reflector::Store).
    pub(in crate::reflector) fn add_index<T>(&self, index: &Index<K, T>)
    where
        K: Send + Sync,
        T: Eq + Hash + Send + Sync + 'static,
    {
        let (decoder, of_decoded) = (Arc::clone(&self.decoder), index.clone());
        let keys = move |object: &CompactObject| keys(&decoder, &of_decoded, object);
        let index: Arc<dyn AnyIndex<CompactObject>> = Arc::new(Index::with_id(index.id().clone(), keys));
        self.shared.pending_indexes.lock().push(index);
    }

    /// Whether readers see exactly this `Arc`.
    pub(crate) fn contains(&self, object: &Arc<CompactObject>) -> bool {
        self.shared.contains(object)
    }

    /// The metadata of an object, without the rest of it and what is pruned. An error is logged.
    pub(crate) fn metadata(&self, object: &CompactObject) -> Option<ObjectMeta> {
        self.decoder.metadata(object)
    }
}

/// The keys of an object in an index. The built-in indexes do not decode it. An undecodable object has none, with an error in the log.
fn keys<K, T: 'static>(decoder: &Decoder<K>, index: &Index<K, T>, object: &CompactObject) -> Vec<T> {
    let built_in: Vec<String> = match index.id() {
        IndexId::Custom(_) => {
            return decoder.decode(object).map(|object| index.keys_of(&object)).unwrap_or_default();
        }
        IndexId::Labels => object.selection().labels.iter().map(|(key, value)| pair(key, value)).collect(),
        IndexId::Owners => object.selection().owners,
    };
    let built_in: Box<dyn Any> = Box::new(built_in);
    *built_in.downcast().expect("invariant: the keys of the built-in indexes are strings")
}
