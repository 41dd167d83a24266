//! Sources whose objects are kept in compact caches.

use super::{namespaces::Apis, own::OwnSource, related::RelatedSource, sources::SourceSettings};
use crate::{
    reflector::{CompactWriter, Index},
    watcher::{self, raw_collection_events},
};
use futures::StreamExt;
use kube_client::Api;
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
        let prune = match &apis {
            Apis::One(api) => api.pruned().clone().and(&config.pruned()),
            Apis::ByNamespace(_) => config.pruned(),
        };
        let (writer, keeper) = writer.into_parts(prune);
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
    /// A watch of objects, which `writer` puts into its store before they trigger. No object is decoded to find its owners.
    pub(crate) fn compact(api: Api<O>, config: watcher::Config, writer: CompactWriter<O>) -> Self {
        let writer = writer.with_index(&Index::owners());
        let (dyntype, path) = (writer.as_reader().dyntype().clone(), api.resource_url().to_owned());
        let open = move |settings: &SourceSettings, kind: &str| {
            let kept = writer.kept_objects_with_owners();
            let (mut writer, keeper) = writer.into_parts(api.pruned().clone().and(&config.pruned()));
            let watch = |api, settings| raw_collection_events(api, config, settings, kept);
            let stored = settings.watch(api, kind, watch).map(move |item| {
                let event = item.map(|event| {
                    let metadata = event.object().map(|child| child.meta().clone()).unwrap_or_default();
                    let event = writer.apply_collection_event(keeper.keep(event));
                    event.map(|_kept| PartialObjectMeta { types: None, metadata, _phantom: PhantomData })
                });
                drop(writer.take_index_panics()); // they were logged
                event
            });
            stored.boxed()
        };
        Self::watch(path, open, dyntype)
    }
}
