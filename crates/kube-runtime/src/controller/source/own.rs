//! The source of a controller's own objects: where they come from, and the triggers of their changes.

use super::{
    filter::{OwnCache, OwnFilter, OwnPredicate},
    namespaces::Apis,
    sources::{EventStream, NamedSource, SourceSettings},
    trigger::{CallbackPanic, Trigger, TriggerStream},
};
use crate::{
    controller::scope::{Covered, ShownState},
    reflector::{
        Lookup, ObjectRef, StoreChange, follow_namespaces,
        store::{IndexPanic, Store, Writer},
    },
    watcher::{self, CollectionEvent, Event, Selected, WatchSettings, cached_collection_events},
};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{borrow::Borrow, fmt::Debug, future::ready, hash::Hash, sync::Arc};

/// Where a controller's own objects come from, which of their changes matter, and the store that has them.
pub(crate) struct OwnSource<K: Resource<DynamicType: Eq + Hash> + 'static> {
    open: OpenOwn<K>,
    filter: OwnFilter<K>,
    /// The API paths of its watches.
    pub(crate) paths: Vec<String>,
    pub(crate) store: Store<K>,
    /// The objects that the store shows.
    selected: Option<Selected>,
    pub(crate) dyntype: K::DynamicType,
}

/// Opens the source once settings and filter are known.
type OpenOwn<K> = Box<dyn FnOnce(&SourceSettings, OwnFilter<K>) -> TriggerStream + Send>;

impl<K> OwnSource<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Watches that fill a new store: of one collection, or of one per namespace.
    pub(crate) fn watches(apis: Apis<K>, config: watcher::Config, dyntype: K::DynamicType) -> Self {
        let writer = Writer::new(dyntype.clone());
        let (store, cached) = (writer.as_reader(), writer.known_objects());
        let selected = apis.selected(&config);
        let watch = move |api, settings| {
            cached_collection_events(api, config.clone(), settings, cached.clone()).boxed()
        };
        Self::cached(apis, watch, writer, store.clone(), store, selected, dyntype)
    }

    /// Watches whose events `writer` applies to `cache`, which `store` reads.
    pub(super) fn cached<C: OwnCache<K>>(
        apis: Apis<K>,
        watch: impl Fn(Api<K>, WatchSettings) -> EventStream<Arc<C::Kept>> + Send + 'static,
        writer: Writer<C::Kept>,
        cache: C,
        store: Store<K>,
        selected: Selected,
        dyntype: K::DynamicType,
    ) -> Self {
        let (reader, kind, paths) = (store.clone(), K::kind(&dyntype).into_owned(), apis.paths());
        let open: OpenOwn<K> = Box::new(move |settings, filter| {
            let changes = match apis.by_namespace {
                None => applied(settings.watch(apis.api, &kind, watch), writer).boxed(),
                Some(apis) => {
                    let (settings, namespaces) = (settings.clone(), apis.keys().cloned().collect::<Vec<_>>());
                    // Each watch has its own backoff, so that a failing one does not delay the others.
                    let watch = move |namespace: &str| settings.watch(apis[namespace].clone(), &kind, &watch);
                    follow_namespaces(writer, stream::iter([namespaces]), watch).boxed()
                }
            };
            triggers_of_changes(changes, cache, reader, filter, settings.skips_own_writes).boxed()
        });
        Self { open, filter: OwnFilter::default(), paths, store, selected: Some(selected), dyntype }
    }

    /// A stream of the program. Its store is filled elsewhere.
    pub(crate) fn stream<T: Borrow<K> + Send + 'static>(
        objects: impl Stream<Item = watcher::Result<T>> + Send + 'static,
        store: Store<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        let (objects, reader) = (objects.map_err(watcher::ErasedError::from), store.clone());
        let open: OpenOwn<K> = Box::new(move |settings, mut filter| {
            settings.backoff.apply(objects.flat_map(move |item| {
                let item = item.inspect_err(|error| filter.failed(error.get()));
                items(item.map(|object| filter.triggers_of_object(object.borrow(), &reader)))
            }))
        });
        Self { open, filter: OwnFilter::default(), paths: Vec::new(), store, selected: None, dyntype }
    }

    /// A subscription to a shared store, which is filled elsewhere. Objects that are not in the store any more are dropped.
    pub(crate) fn shared(
        objects: impl Stream<Item = Arc<K>> + Send + 'static,
        store: Store<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        let (reader, kind) = (store.clone(), dyntype.clone());
        let present = objects.filter(move |object| {
            let in_store = || reader.get(&ObjectRef::from_obj_with(&**object, kind.clone())).is_some();
            ready(!reader.is_ready() || in_store())
        });
        Self::stream(present.map(Ok), store, dyntype)
    }

    /// Sets the predicate of the changes that matter.
    pub(crate) fn filtered(self, predicate: OwnPredicate<K>) -> Self {
        Self { filter: OwnFilter::new(predicate), ..self }
    }

    /// The store, as one that shows what reconciles write.
    pub(crate) fn covered(&self) -> Covered {
        Covered::store(&self.store, self.selected.clone())
    }

    /// The source without the store, which the runner reads.
    pub(crate) fn into_parts(self) -> (NamedSource, Store<K>) {
        let Self { open, filter, store, paths, dyntype, selected: _ } = self;
        let origin = if paths.is_empty() { "stream" } else { "watch" };
        let name = format!("the {origin} of the controller's own {} objects", K::kind(&dyntype));
        (NamedSource { name, open: Box::new(move |settings| open(settings, filter)) }, store)
    }
}

/// The changes that `writer` has applied, each after the panics of index functions at its object.
fn applied<T>(
    events: EventStream<Arc<T>>,
    mut writer: Writer<T>,
) -> impl Stream<Item = watcher::ErasedResult<StoreChange<T>>> + Send + 'static
where
    T: Lookup<DynamicType: Eq + Hash + Clone + Send + Sync> + Clone + Send + Sync + 'static,
{
    events.flat_map(move |item| {
        let event = item
            .map(|event| writer.apply_collection_event(event))
            .map_or_else(|error| Some(Err(error)), CollectionEvent::into_public);
        let panics = writer.take_index_panics().into_iter().map(StoreChange::IndexPanic).map(Ok);
        stream::iter(panics.chain(event.map(|event| event.map(StoreChange::Event))))
    })
}

/// The triggers of changes that `cache` has applied, which `store` reads.
fn triggers_of_changes<K, C>(
    changes: impl Stream<Item = watcher::ErasedResult<StoreChange<C::Kept>>> + Send + 'static,
    cache: C,
    store: Store<K>,
    mut filter: OwnFilter<K>,
    skips_own_writes: bool,
) -> impl Stream<Item = watcher::ErasedResult<Trigger>> + Send + 'static
where
    K: Clone + Resource<DynamicType: Eq + Hash + Clone> + Send + Sync + 'static,
    C: OwnCache<K>,
{
    changes.flat_map(move |item| {
        let item = item.inspect_err(|error| filter.failed(error.get()));
        items(item.map(|change| match change {
            StoreChange::Event(event) => {
                // Not what a list shows: it may hide a change by another before this one.
                let shown = match &event {
                    Event::Apply(object) if skips_own_writes => ShownState::of(&**object, false),
                    _ => None,
                };
                let mut triggers = filter.triggers_of_event(event, &cache, &store);
                if let Some(shown) = shown {
                    triggers.iter_mut().flatten().for_each(|trigger| trigger.set_shown(&shown));
                }
                triggers
            }
            StoreChange::IndexPanic(panic) => [Some(index_panicked(panic, &store)), None],
        }))
    })
}

/// The items of the source for one item of its stream.
fn items(
    item: watcher::ErasedResult<[Option<Trigger>; 2]>,
) -> impl Stream<Item = watcher::ErasedResult<Trigger>> {
    let items = match item {
        Ok(triggers) => triggers.map(|trigger| trigger.map(Ok)),
        Err(error) => [Some(Err(error)), None],
    };
    stream::iter(items.into_iter().flatten())
}

fn index_panicked<K>((key, message): IndexPanic, store: &Store<K>) -> Trigger
where
    K: Clone + Resource<DynamicType: Eq + Hash + Clone> + 'static,
{
    let object = Box::new(key.into_ref::<K>(store.dyntype().clone()).erase());
    Trigger::CallbackPanicked(CallbackPanic { callback: "index", object, message })
}
