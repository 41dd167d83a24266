//! Sources of a controller whose objects are kept in compact caches.

use super::{
    builder::{Controller, index_panicked},
    own_filter::OwnFilter,
    related_watch::related_triggers,
    source::{MainFactory, TriggerStream},
    trigger::owner_requests,
};
use crate::{
    reflector::{
        CompactCache, CompactObject, CompactWriter, Index, StoreChange, follow_namespaces, store::Store,
    },
    watcher::{self, CollectionEvent, raw_collection_events},
};
use futures::{Stream, StreamExt, stream};
use kube_client::{Api, client::KnownObjects};
use kube_core::{PartialObjectMeta, Resource};
use serde::de::DeserializeOwned;
use std::{collections::BTreeSet, fmt::Debug, hash::Hash, marker::PhantomData};

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
            let kept = writer.kept_objects();
            let (mut writer, keeper) = writer.into_parts(main_api.pruned().clone().and(&wc.pruned()));
            let cache = keeper.cache.clone();
            let watch = |api, settings| raw_collection_events(api, wc, settings, kept);
            let events = settings.watch(main_api, &kind, watch);
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
            let (settings, kept) = (settings.clone(), writer.kept_objects());
            let (writer, keeper) = writer.into_parts(wc.pruned());
            let cache = keeper.cache.clone();
            let watch = move |namespace: &str| {
                let keeper = keeper.clone();
                let events = settings.watch(api(namespace), &kind, |api, settings| {
                    raw_collection_events(api, wc.clone(), settings, kept.clone())
                });
                events.map(move |item| item.map(|event| keeper.keep(event)))
            };
            let changes = follow_namespaces(writer, stream::iter([namespaces]), watch);
            compact_triggers(changes, cache, store, filter)
        });
        Self::with(main, reader, dyntype)
    }

    /// Like [`owns_with_store`](Self::owns_with_store), with a store that keeps the children compressed. See
    /// [`compact_store`](crate::reflector::compact_store) for what a read costs. No child is decoded to find its owners.
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, reflector::{self, Store}, watcher};
    ///
    /// fn with_deployments(client: Client) -> (Controller<ConfigMap>, Store<Deployment>) {
    ///     let (deployments, writer) = reflector::compact_store();
    ///     let controller = Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .owns_with_compact_store(Api::all(client), watcher::Config::default(), writer);
    ///     (controller, deployments)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| with_deployments(client).0); }
    /// ```
    #[must_use]
    pub fn owns_with_compact_store<Child>(
        mut self,
        api: Api<Child>,
        wc: watcher::Config,
        writer: CompactWriter<Child>,
    ) -> Self
    where
        Child: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
        Child::DynamicType: Debug + Eq + Hash + Clone,
    {
        let writer = writer.with_index(&Index::owners());
        let (owner_type, dyntype) = (self.dyntype.clone(), self.dyntype.clone());
        let child_type = writer.as_reader().dyntype().clone();
        let related_type = child_type.clone();
        let mapper =
            move |child: PartialObjectMeta<Child>| Ok(owner_requests(&child, &owner_type, &child_type));
        self.sources.add_watches(Box::new(move |settings| {
            let (mut writer, keeper) = writer.into_parts(api.pruned().clone().and(&wc.pruned()));
            let kind = Child::kind(&related_type).into_owned();
            // Of kept children the owners are not known.
            let watch = |api, settings| raw_collection_events(api, wc, settings, KnownObjects::default());
            let events = settings.watch(api, &kind, watch);
            let stored = events.map(move |item| {
                let event = item.map(|event| {
                    let metadata = event.object().map(|child| child.meta().clone()).unwrap_or_default();
                    let event = writer.apply_collection_event(keeper.keep(event));
                    event.map(|_kept| PartialObjectMeta { types: None, metadata, _phantom: PhantomData })
                });
                drop(writer.take_index_panics()); // they were logged
                event
            });
            related_triggers(vec![stored.boxed()], mapper, None, dyntype, related_type).boxed()
        }));
        self
    }
}

/// The triggers of changes that the cache has applied.
fn compact_triggers<K>(
    changes: impl Stream<Item = watcher::ErasedResult<StoreChange<CompactObject>>> + Send + 'static,
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
