//! The sources of a controller's own objects, kept in a compact cache.

use super::{
    builder::{Controller, index_panicked},
    own_filter::OwnFilter,
    source::{MainFactory, TriggerStream},
};
use crate::{
    reflector::{CompactCache, CompactObject, CompactWriter, StoreChange, follow_namespaces, store::Store},
    watcher::{self, CollectionEvent, raw_collection_events},
};
use futures::{Stream, StreamExt, stream};
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{collections::BTreeSet, fmt::Debug, hash::Hash};

impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// [`new_with`](Self::new_with), with a compact cache.
    pub(super) fn compact(main_api: Api<K>, wc: watcher::Config, dyntype: K::DynamicType) -> Self {
        let writer = CompactWriter::new(dyntype.clone());
        let reader = writer.as_reader();
        let (store, kind) = (reader.clone(), K::kind(&dyntype).into_owned());
        let main: MainFactory<K> = Box::new(move |settings, filter| {
            let (mut writer, keeper) = writer.into_parts(main_api.pruned().clone().and(&wc.pruned()));
            let cache = keeper.cache.clone();
            let events =
                settings.watch(main_api, &kind, |api, settings| raw_collection_events(api, wc, settings));
            let changes = events.flat_map(move |item| {
                let event = item
                    .map(|event| writer.apply_collection_event(keeper.keep(event)))
                    .map_or_else(|error| Some(Err(error)), CollectionEvent::into_public);
                let panics = writer.take_index_panics().into_iter().map(StoreChange::IndexPanic).map(Ok);
                stream::iter(panics.chain(event.map(|event| event.map(StoreChange::Event))))
            });
            compact_triggers(changes, cache, store, filter)
        });
        Self::with(main, reader, dyntype)
    }

    /// [`for_namespaces`](Self::for_namespaces), with a compact cache.
    pub(super) fn compact_in_namespaces(
        namespaces: BTreeSet<String>,
        wc: watcher::Config,
        dyntype: K::DynamicType,
        api: impl Fn(&str) -> Api<K> + Send + 'static,
    ) -> Self {
        let writer = CompactWriter::new(dyntype.clone());
        let reader = writer.as_reader();
        let (store, kind) = (reader.clone(), K::kind(&dyntype).into_owned());
        let main: MainFactory<K> = Box::new(move |settings, filter| {
            let settings = settings.clone();
            let (writer, keeper) = writer.into_parts(wc.pruned());
            let cache = keeper.cache.clone();
            let watch = move |namespace: &str| {
                let keeper = keeper.clone();
                let events = settings.watch(api(namespace), &kind, |api, settings| {
                    raw_collection_events(api, wc.clone(), settings)
                });
                events.map(move |item| item.map(|event| keeper.keep(event)))
            };
            let changes = follow_namespaces(writer, stream::iter([namespaces]), watch);
            compact_triggers(changes, cache, store, filter)
        });
        Self::with(main, reader, dyntype)
    }
}

/// The triggers of changes that the cache has applied.
fn compact_triggers<K>(
    changes: impl Stream<Item = watcher::Result<StoreChange<CompactObject>>> + Send + 'static,
    cache: CompactCache<K>,
    store: Store<K>,
    mut filter: OwnFilter<K>,
) -> TriggerStream<K>
where
    K: Clone + Resource + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let triggers = changes.flat_map(move |item| {
        let triggers: Vec<_> = match item {
            Ok(StoreChange::Event(event)) => {
                filter.triggers_of_compact_event(event, &cache, &store).map(Ok).collect()
            }
            Ok(StoreChange::IndexPanic(panic)) => vec![Ok(index_panicked(panic, store.dyntype()))],
            Err(error) => vec![Err(error)],
        };
        stream::iter(triggers)
    });
    triggers.boxed()
}
