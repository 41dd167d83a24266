//! [`CompactWriter`]: fills a store that keeps its objects compressed.

use super::{cache::CompactCache, object::CompactObject, shared::CacheCompressor};
use crate::{
    reflector::{
        Index, Lookup, ObjectRef,
        store::{StartWatch, Store, Writer, subscription::ReflectHandle, without_object},
    },
    watcher::{
        self, CollectionEvent, Event, RawContent, RawObject, RetryBackoff, Selected, UndecodableObject,
        WatchMonitor, WatchSettings, raw_collection_events,
    },
};
use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_client::{
    Api,
    client::{KnownObjects, Prune},
};
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{borrow::Cow, fmt, future::ready, hash::Hash, sync::Arc};

/// A new store that keeps its objects compressed, and the writer that fills it.
///
/// For collections whose objects are many and read seldom. An object takes a twentieth to a fifth of its JSON and some hundred bytes, and
/// is decoded when it is read. The objects that were used last stay decoded, in an eighth to a quarter of the bytes of all JSON, at least
/// 256 KiB and at most about 16 MiB; one of more than a quarter of that is decoded at each read. Fields that the configuration
/// [prunes](watcher::Config::prune) are skipped when an object is decoded; its compressed JSON contains them.
///
/// ```
/// use futures::TryStreamExt;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client, api::PostParams};
/// use kube_runtime::{reflector::{self, ObjectRef}, watcher};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".into());
/// maps.create(&PostParams::default(), &map).await?;
///
/// let (store, writer) = reflector::compact_store::<ConfigMap>();
/// let mut events = Box::pin(writer.watch(maps, watcher::Config::default()));
/// while !store.is_ready() {
///     events.try_next().await?;
/// }
/// let map = store.try_get(&ObjectRef::new("settings").within("default"))?;
/// assert!(map.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What a read costs
///
/// | read | cost |
/// |---|---|
/// | [`get`](Store::get), [`try_get`](Store::try_get), [`wait_for`](Store::wait_for) | decompresses and decodes the object, unless it was used recently |
/// | [`by_index`](Store::by_index), [`owned_by`](Store::owned_by) with a declared index, [`state_filter_selector`](Store::state_filter_selector) | the same for each result, not for other objects |
/// | [`state`](Store::state), [`find`](Store::find), [`state_filter`](Store::state_filter) | decodes all objects, `find` up to the result |
/// | [`len`](Store::len), readiness, the beginning and the end of a wait | nothing |
/// | a declared [`Index::new`] | decodes each object that changes, before and after the change; [`Index::labels`] and [`Index::owners`] do not |
///
/// # Objects that cannot be decoded
///
/// An object that a watch reports as changed is decoded at once: if that fails it is an error of the stream, and its last readable state
/// stays. The objects of a list are not decoded, so such an object is an error of its [`try_get`](Store::try_get), and in a controller of
/// its reconcile. The other methods leave it out, with an error in the log.
#[must_use]
pub fn compact_store<K>() -> (Store<K>, CompactWriter<K>)
where
    K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Default,
{
    let writer = CompactWriter::new(K::DynamicType::default());
    (writer.as_reader(), writer)
}

/// A new compact store, and what starts the watch that fills it. Its subscribers do not end with the watch.
pub(in crate::reflector) fn compact_watch<K>(
    api: Api<K>,
    config: watcher::Config,
    monitor: WatchMonitor,
) -> (Store<K>, StartWatch<K>)
where
    K: Resource + Clone + DeserializeOwned + fmt::Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Default + Send + Sync,
{
    let (store, writer) = compact_store::<K>();
    let writer = writer.keep_subscriptions();
    (store, Box::new(move || writer.watch_monitored(api, config, &monitor).boxed()))
}

/// Fills a store that keeps its objects compressed. See [`compact_store`].
pub struct CompactWriter<K: Lookup + 'static> {
    writer: Writer<CompactObject>,
    keeper: Keeper<K>,
}

impl<K> CompactWriter<K>
where
    K: Resource + Clone + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// The writer of a new cache for a kind known only at run time.
    pub fn new(dyntype: K::DynamicType) -> Self {
        let writer = Writer::<CompactObject>::new_shared(0, ());
        let compressor = CacheCompressor::of_cache::<K>(writer.shared(), &dyntype);
        let cache = CompactCache::new(writer.shared(), dyntype, compressor.recent());
        Self { writer, keeper: Keeper { cache, compressor } }
    }

    /// Declares an index, so that [`Store::by_index`] needs no scan of all objects.
    #[must_use]
    pub fn with_index<T>(self, index: &Index<K, T>) -> Self
    where
        T: Eq + Hash + Send + Sync + 'static,
    {
        self.keeper.cache.add_index(index);
        self
    }

    /// Does not end the streams of subscribers when the writer is dropped: see [`Writer::keep_subscriptions`].
    #[must_use]
    pub fn keep_subscriptions(self) -> Self {
        Self { writer: self.writer.keep_subscriptions(), ..self }
    }

    /// A store that reads this cache.
    #[must_use]
    pub fn as_reader(&self) -> Store<K> {
        self.writer.as_compact_reader(self.keeper.cache.clone())
    }

    /// A stream of the objects as they change, each decoded when it is polled for. See [`Writer::subscribe`].
    ///
    /// Objects that cannot be decoded are left out, with an error in the log.
    #[must_use]
    pub fn subscribe(&self) -> ReflectHandle<K> {
        self.as_reader().subscribe().expect("invariant: a compact cache is shared")
    }

    /// Watches the objects of `api` that `config` selects, and fills the store. The items are the events of a
    /// [`watcher`](fn@crate::watcher) without the objects, which are in the store.
    ///
    /// The store changes when the stream is polled, before the stream returns the event. The watch retries failures by itself, with
    /// backoff, and the stream never ends.
    pub fn watch(
        self,
        api: Api<K>,
        config: watcher::Config,
    ) -> impl Stream<Item = watcher::Result<Event<ObjectRef<K>>>> + Send
    where
        K: fmt::Debug,
        K::DynamicType: Send + Sync,
    {
        self.watch_with(api, config, RetryBackoff::with_default().into())
    }

    /// Like [`watch`](Self::watch), as a watch that `monitor` shows.
    pub fn watch_monitored(
        self,
        api: Api<K>,
        config: watcher::Config,
        monitor: &WatchMonitor,
    ) -> impl Stream<Item = watcher::Result<Event<ObjectRef<K>>>> + Send + use<K>
    where
        K: fmt::Debug,
        K::DynamicType: Send + Sync,
    {
        self.watch_with(api, config, monitor.settings())
    }

    fn watch_with(
        self,
        api: Api<K>,
        config: watcher::Config,
        settings: WatchSettings,
    ) -> impl Stream<Item = watcher::Result<Event<ObjectRef<K>>>> + Send + use<K>
    where
        K: fmt::Debug,
        K::DynamicType: Send + Sync,
    {
        self.writer.selects(Selected::by(&api, &config));
        let known = self.kept_objects();
        let (mut writer, keeper) = self.into_parts(api.pruned().clone().and(&config.pruned()));
        let dyntype = keeper.cache.dyntype().clone();
        let events = raw_collection_events(api, config, settings, known);
        events.filter_map(move |item| {
            let event = item.map(|event| writer.apply_collection_event(keeper.keep(event)));
            drop(writer.take_index_panics()); // they were logged
            ready(without_object(event, &dyntype))
        })
    }

    /// What the cache keeps, for the watch that fills it.
    pub(crate) fn kept_objects(&self) -> KnownObjects<RawObject<CompactObject>> {
        self.writer.known_objects().map(kept_object)
    }

    /// The same, with the labels and owners of each object. Costs its decompression.
    pub(crate) fn kept_objects_with_owners(&self) -> KnownObjects<RawObject<CompactObject>> {
        let find = self.writer.find_known();
        KnownObjects::new(move |version| {
            let kept = find(version)?;
            RawObject::kept_as_received(&kept.json()?, kept).ok()
        })
    }

    /// The writer of the kept objects, and what makes them of the received ones. Fields in `prune` are skipped when objects are decoded.
    pub(crate) fn into_parts(self, prune: Prune) -> (Writer<CompactObject>, Keeper<K>) {
        self.keeper.cache.decoder.prune(prune);
        (self.writer, self.keeper)
    }
}

impl<K: Lookup + 'static> fmt::Debug for CompactWriter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompactWriter").field("writer", &self.writer).finish_non_exhaustive()
    }
}

fn kept_object(kept: Arc<CompactObject>) -> RawObject<CompactObject> {
    let metadata = ObjectMeta {
        name: kept.name().map(Cow::into_owned),
        namespace: kept.namespace().map(Cow::into_owned),
        uid: kept.uid().map(Cow::into_owned),
        resource_version: kept.resource_version().map(Cow::into_owned),
        ..ObjectMeta::default()
    };
    RawObject::kept(metadata, kept)
}

/// Makes kept objects of received ones.
pub(crate) struct Keeper<K: Lookup> {
    pub(crate) cache: CompactCache<K>,
    pub(super) compressor: CacheCompressor,
}

impl<K: Lookup> Clone for Keeper<K> {
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone(), compressor: self.compressor.clone() }
    }
}

impl<K: Lookup + 'static> Keeper<K> {
    /// The event with the object as it is kept. A changed object is decoded, because it is likely to be read soon; if that fails, the event
    /// is [`Undecodable`](CollectionEvent::Undecodable).
    pub(crate) fn keep(
        &self,
        event: CollectionEvent<RawObject<CompactObject>>,
    ) -> CollectionEvent<Arc<CompactObject>> {
        let (CollectionEvent::Apply(object), Some(RawContent::Json(json))) =
            (&event, event.object().map(RawObject::content))
        else {
            return event.map(|object| self.keep_object(&object));
        };
        match self.cache.decoder.decode_json(json.get().as_bytes()) {
            Ok(decoded) => {
                let kept = self.keep_object(object);
                self.cache.decoder.add_recent(&kept, &decoded);
                CollectionEvent::Apply(kept)
            }
            Err(invalid) => CollectionEvent::Undecodable(UndecodableObject::new(*invalid, false)),
        }
    }

    /// An object that a relist repeats unchanged is kept already, and not compressed again.
    fn keep_object(&self, object: &RawObject<CompactObject>) -> Arc<CompactObject> {
        match object.content() {
            RawContent::Kept(kept) => Arc::clone(kept),
            RawContent::Json(json) => {
                let (kept, mean) = self.compressor.keep(object, json.get());
                let json_bytes = (self.cache.shared.most_objects() * mean) as u64;
                self.cache.decoder.count(json_bytes);
                Arc::new(kept)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn an_object_that_is_kept_is_neither_compressed_nor_decoded_again() {
        let writer = CompactWriter::<ConfigMap>::new(());
        let (mut writer, keeper) = writer.into_parts(Prune::default());
        let json = r#"{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"5"}}"#;
        let received = CollectionEvent::Apply(serde_json::from_str(json).unwrap());
        let stored = writer.apply_collection_event(keeper.keep(received));
        let stored = stored.object().unwrap();
        let known = kept_object(Arc::clone(stored));
        let with_owners = RawObject::kept_as_received(json.as_bytes(), Arc::clone(stored)).unwrap();
        for known in [known, with_owners] {
            let meta = known.meta();
            assert_eq!(
                [&meta.namespace, &meta.name, &meta.uid, &meta.resource_version].map(Option::as_deref),
                [Some("ns"), Some("a"), Some("u"), Some("5")]
            );
            let kept = keeper.keep(CollectionEvent::InitApply(known));
            assert!(Arc::ptr_eq(kept.object().unwrap(), stored));
        }
        // Whether an object is known is decided before it is received.
        let again = keeper.keep(CollectionEvent::InitApply(serde_json::from_str(json).unwrap()));
        assert!(!Arc::ptr_eq(again.object().unwrap(), stored));
    }
}
