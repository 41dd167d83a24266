//! Sources of related objects: objects of another kind, which the controller's own objects own or depend on.

use super::{
    namespaces::Apis,
    related_changes::{Mapped, triggers_of_stream, triggers_of_watches},
    requests::owners_of,
    sources::{EventStream, SourceSettings, Sources},
};
use crate::{
    controller::scope::Covered,
    predicate::BoxPredicate,
    reflector::{
        Index, Lookup, ObjectKey, ObjectRef, WatchWriter,
        store::{WatchProgress, Writer},
    },
    unwind::catch_panic,
    watcher::{
        self, CollectionEvent, Selected, WatchSettings, cached_collection_events, collection_events,
        metadata_collection_events,
    },
};
use futures::{Stream, StreamExt, TryStreamExt, stream::BoxStream};
use kube_client::Api;
use kube_core::{PartialObjectMeta, Resource};
use serde::de::DeserializeOwned;
use std::{borrow::Borrow, fmt::Debug, hash::Hash, sync::Arc};

/// Where objects of the kind `O` come from, which of their changes matter, and the store that keeps them.
///
/// `T` is how the source hands one to the mapper: as the object, an `Arc` of it, or its metadata.
pub(crate) struct RelatedSource<T, O: Resource> {
    origin: Origin<T>,
    filter: Option<BoxPredicate<O>>,
    /// What shows the objects: a store, or each watch. Nothing for a stream of the program.
    covered: Vec<Covered>,
    dyntype: O::DynamicType,
}

enum Origin<T> {
    /// Watches that the controller makes. They report their lists, and wait after failures by themselves.
    Watches(Vec<(ApiPath, OpenWatch<T>)>),
    /// A stream of the program, which reports changes only.
    Stream(BoxStream<'static, watcher::ErasedResult<T>>),
}

/// The API path of a watch.
type ApiPath = String;

/// Opens a watch of objects of this kind, once the settings are known.
type OpenWatch<T> = Box<dyn FnOnce(&SourceSettings, &str) -> EventStream<T> + Send>;

impl<O> RelatedSource<O, O>
where
    O: Clone + Resource<DynamicType: Clone> + DeserializeOwned + Debug + Send + 'static,
{
    /// Watches of complete objects.
    pub(crate) fn objects(
        apis: impl Into<Apis<O>>,
        config: watcher::Config,
        dyntype: O::DynamicType,
    ) -> Self {
        let selected = selecting(&config);
        let watch = move |api, settings| collection_events(api, config.clone(), settings).boxed();
        Self::watches(apis.into(), watch, selected, dyntype)
    }
}

impl<A> RelatedSource<PartialObjectMeta<A>, PartialObjectMeta<A>>
where
    A: Clone + Resource<DynamicType: Clone> + DeserializeOwned + Debug + Send + 'static,
{
    /// Watches of the metadata of objects only.
    pub(crate) fn metadata(
        apis: impl Into<Apis<A>>,
        config: watcher::Config,
        dyntype: A::DynamicType,
    ) -> Self {
        let selected = selecting(&config);
        let watch = move |api, settings| metadata_collection_events(api, config.clone(), settings).boxed();
        Self::watches(apis.into(), watch, selected, dyntype)
    }
}

impl<O> RelatedSource<Arc<O>, O>
where
    O: Clone + Resource<DynamicType: Eq + Hash + Clone> + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Watches of complete objects, which `writer` puts into its store before they trigger.
    pub(crate) fn stored(
        apis: Apis<O>,
        config: watcher::Config,
        dyntype: O::DynamicType,
        writer: Writer<O>,
    ) -> Self {
        let writer = writer.with_index(&Index::owners());
        let covered = Covered::store(&writer.as_reader(), Some(apis.selected(&config)));
        let cached = writer.known_objects();
        let watch =
            move |api, settings| cached_collection_events(api, config.clone(), settings, cached.clone());
        Self::written(apis, watch, writer, WatchWriter::apply, covered, dyntype)
    }
}

impl<T, O> RelatedSource<T, O>
where
    T: Borrow<O> + 'static,
    O: Resource<DynamicType: Clone> + 'static,
{
    /// A stream of the program.
    pub(crate) fn stream(
        objects: impl Stream<Item = watcher::Result<T>> + Send + 'static,
        dyntype: O::DynamicType,
    ) -> Self {
        Self::of(Origin::Stream(objects.map_err(watcher::ErasedError::from).boxed()), dyntype)
    }

    /// Watches whose events `apply` applies to the store of `writer`.
    pub(super) fn written<K, A, E, S>(
        apis: Apis<A>,
        watch: impl Fn(Api<A>, WatchSettings) -> S + Clone + Send + 'static,
        writer: Writer<K>,
        apply: impl FnMut(&mut WatchWriter<K>, CollectionEvent<E>) -> CollectionEvent<T> + Clone + Send + 'static,
        covered: Covered,
        dyntype: O::DynamicType,
    ) -> Self
    where
        K: Lookup<DynamicType: Eq + Hash + Clone + Send + Sync> + Clone + Send + Sync + 'static,
        A: Resource + 'static,
        E: Send + 'static,
        T: Send,
        S: Stream<Item = watcher::ErasedResult<CollectionEvent<E>>> + Send + 'static,
    {
        let served = apis.served.clone();
        let covered = covered.while_served(served.clone());
        // Of several namespaces, one that fails says nothing about the others.
        let health = if apis.by_namespace.is_none() { covered.health() } else { Arc::default() };
        let writers = match &apis.by_namespace {
            None => vec![WatchWriter::Alone(writer)],
            Some(apis) => WatchWriter::by_namespace(writer, apis.keys().cloned()),
        };
        let open = |(api, writer): (Api<A>, WatchWriter<K>)| -> (ApiPath, OpenWatch<T>) {
            let (path, watch, apply) = (api.resource_url().to_owned(), watch.clone(), apply.clone());
            let (served, health) = (served.clone(), Arc::clone(&health));
            let open = move |settings: &SourceSettings, kind: &str| {
                let events = settings.watch_served(served, api, kind, watch);
                writer.follow(
                    events.inspect(move |item| {
                        health.observe(item, |event| matches!(event, CollectionEvent::Init))
                    }),
                    apply,
                )
            };
            (path, Box::new(open))
        };
        let watches = apis.into_vec().into_iter().zip(writers).map(open).collect();
        Self { covered: vec![covered], ..Self::of(Origin::Watches(watches), dyntype) }
    }

    fn watches<A: Resource + 'static>(
        apis: Apis<A>,
        watch: impl Fn(Api<A>, WatchSettings) -> EventStream<T> + Clone + Send + 'static,
        selected: impl Fn(&Api<A>) -> Selected,
        dyntype: O::DynamicType,
    ) -> Self
    where
        T: Send,
    {
        let served = apis.served.clone();
        let mut covered = Vec::new();
        let mut open = |api: Api<A>| -> (ApiPath, OpenWatch<T>) {
            let (path, watch, served) = (api.resource_url().to_owned(), watch.clone(), served.clone());
            let progress = WatchProgress::default();
            let shows = Covered::watch::<O>(&dyntype, selected(&api), progress.clone());
            let health = shows.health();
            covered.push(shows.while_served(served.clone()));
            let open = move |settings: &SourceSettings, kind: &str| {
                let events = settings.watch_served(served, api, kind, watch);
                match settings.waits_for_own_writes {
                    true => {
                        let events = events.inspect(move |item| {
                            health.observe(item, |event| matches!(event, CollectionEvent::Init))
                        });
                        events.inspect_ok(move |event| progress.observe::<O>(event)).boxed()
                    }
                    false => events,
                }
            };
            (path, Box::new(open))
        };
        let watches = apis.into_vec().into_iter().map(&mut open).collect();
        Self { covered, ..Self::of(Origin::Watches(watches), dyntype) }
    }

    fn of(origin: Origin<T>, dyntype: O::DynamicType) -> Self {
        Self { origin, filter: None, covered: Vec::new(), dyntype }
    }

    /// Triggers only after changes of the property that the predicate returns, if there is one. Streams of the program are not filtered.
    pub(crate) fn filtered(self, filter: Option<BoxPredicate<O>>) -> Self {
        Self { filter, ..self }
    }

    /// Adds the source to `sources`. `mapper` returns the objects to reconcile after a change.
    pub(crate) fn add_to(self, sources: &mut Sources, mapper: impl Fn(T) -> Mapped + Send + 'static) {
        let Self { origin, filter, covered, dyntype } = self;
        sources.coverage.extend(covered);
        match origin {
            // Otherwise the first reconcile would wait for a list that never completes.
            Origin::Watches(watches) if watches.is_empty() => {}
            Origin::Watches(watches) => {
                let (paths, watches): (Vec<_>, Vec<_>) = watches.into_iter().unzip();
                let name = format!("the watch of {} objects", O::kind(&dyntype));
                let open = move |settings: &SourceSettings| {
                    let kind = O::kind(&dyntype).into_owned();
                    let watches = watches.into_iter().map(|open| open(settings, &kind)).collect();
                    let skips = settings.skips_own_writes;
                    triggers_of_watches::<O, T>(watches, mapper, filter, skips, dyntype).boxed()
                };
                sources.add_watches(name, paths, Box::new(open));
            }
            Origin::Stream(objects) => {
                let name = format!("the stream of {} objects", O::kind(&dyntype));
                sources.add_stream(name, triggers_of_stream::<O, T>(objects, mapper, dyntype));
            }
        }
    }
}

/// What a watch of a collection with this configuration selects.
fn selecting<A: Resource>(config: &watcher::Config) -> impl Fn(&Api<A>) -> Selected + use<A> {
    let config = config.clone();
    move |api| Selected::by(api, &config)
}

/// The mapper from an object to its owners of the kind `K`.
pub(crate) fn owners_in<K, O>(owner_type: K::DynamicType) -> impl Fn(&O) -> Mapped
where
    K: Resource<DynamicType: Clone>,
    O: Resource,
{
    move |child| Ok(owners_of::<K, O>(child, &owner_type).map(ObjectKey::from).collect())
}

/// What the mapper of the program returns, whose panics are caught.
pub(crate) fn mapped_by<K, I>(mapper: impl FnOnce() -> I) -> Mapped
where
    K: Resource,
    I: IntoIterator<Item = ObjectRef<K>>,
{
    catch_panic(|| mapper().into_iter().map(ObjectKey::from).collect())
}
