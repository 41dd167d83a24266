//! Sources whose objects are kept in compact caches.

use super::{namespaces::Apis, own::OwnSource, related::RelatedSource};
use crate::{
    reflector::{CompactWriter, Index, WatchWriter},
    watcher::{self, CollectionEvent, RawObject, raw_collection_events},
};
use futures::StreamExt;
use kube_core::{PartialObjectMeta, Resource};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash, marker::PhantomData};

impl<K> OwnSource<K>
where
    K: Clone + Resource<DynamicType: Eq + Hash + Clone> + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Like [`watches`](Self::watches), with a compact store.
    pub(crate) fn compact(apis: Apis<K>, config: watcher::Config, dyntype: K::DynamicType) -> Self {
        let writer = CompactWriter::new(dyntype.clone());
        let (store, kept) = (writer.as_reader(), writer.kept_objects());
        let (writer, keeper) = writer.into_parts(apis.pruned().and(&config.pruned()));
        let cache = keeper.cache.clone();
        let watch = move |api, settings| {
            let keeper = keeper.clone();
            let events = raw_collection_events(api, config.clone(), settings, kept.clone());
            events.map(move |item| item.map(|event| keeper.keep(event))).boxed()
        };
        Self::cached(apis, watch, writer, cache, store, dyntype)
    }
}

impl<O> RelatedSource<PartialObjectMeta<O>, PartialObjectMeta<O>>
where
    O: Clone + Resource<DynamicType: Eq + Hash + Clone> + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Watches of objects, which `writer` puts into its store before they trigger. No object is decoded to find its owners.
    pub(crate) fn compact(
        apis: Apis<O>,
        config: watcher::Config,
        dyntype: O::DynamicType,
        writer: CompactWriter<O>,
    ) -> Self {
        let writer = writer.with_index(&Index::owners());
        let kept = writer.kept_objects_with_owners();
        let (writer, keeper) = writer.into_parts(apis.pruned().and(&config.pruned()));
        let watch = move |api, settings| raw_collection_events(api, config.clone(), settings, kept.clone());
        let apply = move |writer: &mut WatchWriter<_>, event: CollectionEvent<RawObject<_>>| {
            let metadata = event.object().map(|child| child.meta().clone()).unwrap_or_default();
            let event = writer.apply(keeper.keep(event));
            event.map(|_kept| PartialObjectMeta { types: None, metadata, _phantom: PhantomData })
        };
        Self::written(apis, watch, writer, apply, dyntype)
    }
}
