//! Sources of related objects: objects of another kind, which the controller's own objects own or depend on.

use super::{
    namespaces::Apis,
    related_changes::{Mapped, triggers_of_stream, triggers_of_watches},
    requests::owners_of,
    sources::{EventStream, SourceSettings, Sources},
};
use crate::{
    Predicate,
    predicate::BoxPredicate,
    reflector::{Index, ObjectKey, ObjectRef, store::Writer},
    unwind::catch_panic,
    watcher::{self, WatchSettings, cached_collection_events, collection_events, metadata_collection_events},
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
        let watch = move |api, settings| collection_events(api, config.clone(), settings).boxed();
        Self::watches(apis.into(), watch, dyntype)
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
        let watch = move |api, settings| metadata_collection_events(api, config.clone(), settings).boxed();
        Self::watches(apis.into(), watch, dyntype)
    }
}

impl<O> RelatedSource<Arc<O>, O>
where
    O: Clone + Resource<DynamicType: Eq + Hash + Clone> + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// A watch of complete objects, which `writer` puts into its store before they trigger.
    pub(crate) fn stored(api: Api<O>, config: watcher::Config, writer: Writer<O>) -> Self {
        let mut writer = writer.with_index(&Index::owners());
        let dyntype = writer.as_reader().dyntype().clone();
        let path = api.resource_url().to_owned();
        let open: OpenWatch<Arc<O>> = Box::new(move |settings, kind| {
            let known = writer.known_objects();
            let watch = |api, settings| cached_collection_events(api, config, settings, known);
            let stored = settings.watch(api, kind, watch).map(move |item| {
                let event = item.map(|event| writer.apply_collection_event(event));
                drop(writer.take_index_panics()); // they were logged
                event
            });
            stored.boxed()
        });
        Self::of(Origin::Watches(vec![(path, open)]), dyntype)
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

    /// One watch, which `open` opens.
    #[cfg(feature = "compact-cache")]
    pub(super) fn watch(
        path: ApiPath,
        open: impl FnOnce(&SourceSettings, &str) -> EventStream<T> + Send + 'static,
        dyntype: O::DynamicType,
    ) -> Self {
        Self::of(Origin::Watches(vec![(path, Box::new(open))]), dyntype)
    }

    fn watches<A: Resource + 'static>(
        apis: Apis<A>,
        watch: impl Fn(Api<A>, WatchSettings) -> EventStream<T> + Clone + Send + 'static,
        dyntype: O::DynamicType,
    ) -> Self
    where
        T: Send,
    {
        let open = |api: Api<A>| -> (ApiPath, OpenWatch<T>) {
            let (path, watch) = (api.resource_url().to_owned(), watch.clone());
            (path, Box::new(move |settings, kind| settings.watch(api, kind, watch)))
        };
        Self::of(Origin::Watches(apis.into_vec().into_iter().map(open).collect()), dyntype)
    }

    fn of(origin: Origin<T>, dyntype: O::DynamicType) -> Self {
        Self { origin, filter: None, dyntype }
    }

    /// Triggers only after changes of the property that `predicate` returns. Streams of the program are not filtered.
    pub(crate) fn filtered(self, predicate: impl Predicate<O> + Send + 'static) -> Self {
        Self { filter: Some(Box::new(predicate)), ..self }
    }

    /// Adds the source to `sources`. `mapper` returns the objects to reconcile after a change.
    pub(crate) fn add_to(self, sources: &mut Sources, mapper: impl Fn(T) -> Mapped + Send + 'static) {
        let Self { origin, filter, dyntype } = self;
        match origin {
            // Otherwise the first reconcile would wait for a list that never completes.
            Origin::Watches(watches) if watches.is_empty() => {}
            Origin::Watches(watches) => {
                let (paths, watches): (Vec<_>, Vec<_>) = watches.into_iter().unzip();
                let name = format!("the watch of {} objects", O::kind(&dyntype));
                let open = move |settings: &SourceSettings| {
                    let kind = O::kind(&dyntype).into_owned();
                    let watches = watches.into_iter().map(|open| open(settings, &kind)).collect();
                    triggers_of_watches::<O, T>(watches, mapper, filter, dyntype).boxed()
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

/// The mapper from an object to its owners of the kind `K`.
pub(crate) fn owners_in<K, T, O>(owner_type: K::DynamicType) -> impl Fn(T) -> Mapped
where
    K: Resource<DynamicType: Clone>,
    T: Borrow<O>,
    O: Resource,
{
    move |child| Ok(owners_of::<K, O>(child.borrow(), &owner_type).map(ObjectKey::from).collect())
}

/// The mapper of the program, whose panics are caught.
pub(crate) fn mapped_by<K, T, I>(mapper: impl Fn(T) -> I) -> impl Fn(T) -> Mapped
where
    K: Resource,
    I: IntoIterator<Item = ObjectRef<K>>,
{
    move |object| catch_panic(|| mapper(object).into_iter().map(ObjectKey::from).collect())
}
