//! Fills a store from a watch that needs no adapter.

use super::Writer;
use crate::{
    reflector::{Lookup, ObjectKey, ObjectRef},
    watcher::{
        self, CollectionEvent, ErasedResult, Event, RetryBackoff, Selected, WatchMonitor, WatchSettings,
        cached_collection_events,
    },
};
use futures::{Stream, StreamExt, stream::BoxStream};
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{fmt::Debug, future::ready, hash::Hash, sync::Arc};

/// Starts the watch that fills a store. The items are those of [`Writer::watch`].
pub(crate) type StartWatch<K> =
    Box<dyn FnOnce() -> BoxStream<'static, watcher::Result<Event<ObjectRef<K>>>> + Send>;

impl<K> Writer<K>
where
    K: Lookup + Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    <K as Lookup>::DynamicType: Eq + Hash + Clone + Send + Sync,
{
    /// Watches the objects of `api` that `config` selects, and fills the store. The items are the events of a
    /// [`watcher`](fn@crate::watcher) without the objects, which are in the store.
    ///
    /// The store changes when the stream is polled, before the stream returns the event. The stream never ends. Dropping it cancels its
    /// requests, and the store keeps its state.
    ///
    /// # Errors
    ///
    /// Errors are items, and the watch retries by itself, as that of a controller: it needs no backoff behind it. After an outage of any
    /// length it is back within 5 s; meanwhile it tries every 1 s to 2 s, and reports that at growing intervals of up to 30 s. (A
    /// [`watcher`](fn@crate::watcher) with [`default_backoff`](crate::WatchStreamExt::default_backoff) tries every 30 s after a
    /// while.)
    ///
    /// # Cost
    ///
    /// A relist decodes only the objects that have changed.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client, api::PostParams};
    /// use kube_runtime::{reflector, watcher};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("settings".into());
    /// maps.create(&PostParams::default(), &map).await?;
    ///
    /// let (store, writer) = reflector::store::<ConfigMap>();
    /// let mut events = Box::pin(writer.watch(maps, watcher::Config::default()));
    /// while !store.is_ready() {
    ///     events.try_next().await?;
    /// }
    /// assert_eq!(store.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watch(
        self,
        api: Api<K>,
        config: watcher::Config,
    ) -> impl Stream<Item = watcher::Result<Event<ObjectRef<K>>>> + Send {
        self.watch_with(api, config, RetryBackoff::with_default().into())
    }

    /// Like [`watch`](Self::watch), as a watch that `monitor` shows.
    pub fn watch_monitored(
        self,
        api: Api<K>,
        config: watcher::Config,
        monitor: &WatchMonitor,
    ) -> impl Stream<Item = watcher::Result<Event<ObjectRef<K>>>> + Send + use<K> {
        self.watch_with(api, config, monitor.settings())
    }

    fn watch_with(
        mut self,
        api: Api<K>,
        config: watcher::Config,
        settings: WatchSettings,
    ) -> impl Stream<Item = watcher::Result<Event<ObjectRef<K>>>> + Send + use<K> {
        self.selects(Selected::by(&api, &config));
        let (known, dyntype) = (self.known_objects(), self.as_reader().dyntype().clone());
        let events = cached_collection_events(api, config, settings, known);
        events.filter_map(move |item| {
            let event = item.map(|event| self.apply_collection_event(event));
            drop(self.take_index_panics()); // they were logged
            ready(without_object(event, &dyntype))
        })
    }
}

/// What the stream of a filled store shows of an event: the reference in place of the object.
pub(in crate::reflector) fn without_object<T: Lookup, K: Lookup<DynamicType: Clone>>(
    event: ErasedResult<CollectionEvent<Arc<T>>>,
    dyntype: &K::DynamicType,
) -> Option<watcher::Result<Event<ObjectRef<K>>>> {
    let event = event.map_or_else(|error| Some(Err(error)), CollectionEvent::into_public)?;
    let reference = |object: Arc<T>| ObjectKey::of(&*object).into_ref(dyntype.clone());
    Some(event.map(|event| event.map(reference)).map_err(watcher::ErasedError::into_error))
}
