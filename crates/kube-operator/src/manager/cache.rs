//! Caches that several controllers and components share: one watch for each client, kind, scope and selectors.

use super::{components::Component, error::BoxError, permissions::Refusals};
use crate::{
    health::{Check, Health, Probe},
    metrics,
};
use futures::{
    FutureExt, StreamExt,
    future::{BoxFuture, Shared},
};
use kube_client::{Api, Client, client::Prune};
use kube_core::Resource;
use kube_runtime::{
    controller::{ProgressLimits, ReadStore},
    reflector::{Store, configured_store},
    watcher::{self, WatchMonitor},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{
    any::Any,
    fmt::Debug,
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

/// The capacity of the queue of a subscriber, at first.
const QUEUE: usize = 64;

/// A type of which a manager can have a cache.
pub trait Cached:
    Clone
    + Resource<DynamicType: Default + Eq + Hash + Clone + Send + Sync>
    + DeserializeOwned
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<K> Cached for K where
    K: Clone
        + Resource<DynamicType: Default + Eq + Hash + Clone + Send + Sync>
        + DeserializeOwned
        + Debug
        + Send
        + Sync
        + 'static
{
}

/// The component that fills a cache, with its name.
pub(super) type Fill = (Arc<str>, Component);

/// The shared caches of a manager. Clones are the same.
#[derive(Clone)]
pub(super) struct Caches {
    caches: Arc<Mutex<Vec<Cache>>>,
    health: Health,
    limits: Arc<Mutex<ProgressLimits>>,
    /// Whether they, and the controllers of the manager, list page by page.
    paged_lists: Arc<AtomicBool>,
    refusals: Refusals,
}

/// The store of one type of one collection, of the cluster that one client knows.
struct Cache {
    /// Of its component, its checks, and its metrics.
    name: Arc<str>,
    client: Client,
    collection: String,
    /// Its API path.
    path: String,
    /// What is skipped of the objects.
    prune: Prune,
    compact: bool,
    /// A `Store`, whose type tells whether the objects have the type in question.
    store: Box<dyn Any + Send + Sync>,
    sync: CacheSync,
}

/// The first list of a cache, which controllers wait for. Clones are the same.
#[derive(Clone)]
pub(super) struct CacheSync {
    monitor: WatchMonitor,
    /// What reconciles read.
    store: ReadStore,
    /// Completes with the first list, or when the cache has been removed.
    ready: Shared<BoxFuture<'static, ()>>,
    removed: CancellationToken,
}

impl CacheSync {
    fn new<K: Cached>(store: Store<K>, read: ReadStore, monitor: WatchMonitor) -> Self {
        let removed = CancellationToken::new();
        let ended = removed.clone();
        let ready = async move {
            tokio::select! {
                Ok(()) = store.wait_until_ready() => {}
                () = ended.cancelled() => {}
            }
        };
        Self { monitor, store: read, ready: ready.boxed().shared(), removed }
    }

    /// The cache, as one that shows what reconciles write.
    pub(super) fn store(&self) -> ReadStore {
        self.store.clone()
    }

    /// What is waited for, in words, and its end.
    pub(super) fn gate(self) -> (impl Fn() -> String + Send + Sync, Shared<BoxFuture<'static, ()>>) {
        let Self { monitor, ready, .. } = self;
        (move || describe(&monitor), ready)
    }
}

/// Such as `cache of /api/v1/pods (last error: …)`.
fn describe(monitor: &WatchMonitor) -> String {
    let error = monitor.snapshot().into_iter().find_map(|watch| watch.last_error);
    match error {
        Some(error) => format!("{} (last error: {error})", monitor.name()),
        None => format!("{} (no complete response yet)", monitor.name()),
    }
}

impl Caches {
    /// With checks in `health`. What the server refuses is noted in `refusals`.
    pub(super) fn new(health: Health, refusals: Refusals) -> Self {
        let (caches, limits, paged_lists) = Default::default();
        Self { caches, health, limits, paged_lists, refusals }
    }

    /// What the liveness checks tolerate.
    pub(super) fn set_limits(&self, limits: ProgressLimits) {
        *self.limits.lock() = limits;
    }

    /// Lists are paged, from what starts now on.
    pub(super) fn list_by_pages(&self) {
        self.paged_lists.store(true, Ordering::Relaxed);
    }

    /// Whether what starts now prefers streaming lists.
    pub(super) fn stream_lists(&self) -> bool {
        !self.paged_lists.load(Ordering::Relaxed)
    }

    fn choose_lists(&self, monitor: &WatchMonitor) {
        if self.stream_lists() {
            monitor.prefer_streaming_lists();
        }
    }

    /// What the controllers that start now wait for.
    pub(super) fn syncs(&self) -> Vec<CacheSync> {
        self.lock().iter().map(|cache| cache.sync.clone()).collect()
    }

    /// The API paths of all.
    pub(super) fn paths(&self) -> Vec<String> {
        self.lock().iter().map(|cache| cache.path.clone()).collect()
    }

    /// For the debug page.
    pub(super) fn snapshots(&self) -> Value {
        let rows = self.syncs();
        rows.iter()
            .map(|sync| json!({ "name": sync.monitor.name(), "watches": sync.monitor.snapshot() }))
            .collect()
    }

    /// The store of this collection, and on the first call the component that fills it, with its name.
    pub(super) fn store<K: Cached>(&self, api: Api<K>, config: watcher::Config) -> (Store<K>, Option<Fill>) {
        let mut caches = self.lock();
        if let Some((_, store)) = find(&caches, &api, &config) {
            return (store.clone(), None);
        }
        let (collection, path) = (collection(&api, &config), api.resource_url().to_owned());
        let name = free_name(&caches, &collection);
        let (client, prune, compact) = (api.clone().into_client(), prune(&api, &config), config.is_compact());
        let monitor = WatchMonitor::new(&name, &K::kind(&K::DynamicType::default()));
        let (store, read, fill) = make(monitor.clone(), api, config, self.clone());
        let sync = CacheSync::new(store.clone(), read, monitor.clone());
        let (filled, limits) = (store.clone(), Arc::clone(&self.limits));
        let ready = move || filled.is_ready().then_some(()).ok_or("the cache is not in sync");
        self.health.add(Probe::Ready, Check::new(&*name, ready));
        let alive = move || monitor.progress(&limits.lock().clone());
        self.health.add(Probe::Live, Check::new(&*name, alive));
        let store_of_type = Box::new(store.clone());
        caches.push(Cache {
            name: Arc::clone(&name),
            client,
            collection,
            path,
            prune,
            compact,
            store: store_of_type,
            sync,
        });
        (store, Some((name, fill)))
    }

    /// The name of the cache of this collection.
    pub(super) fn name<K: Cached>(&self, api: &Api<K>, config: &watcher::Config) -> Option<Arc<str>> {
        find(&self.lock(), api, config).map(|(name, _)| Arc::clone(name))
    }

    /// Forgets the cache of this name, if there is one: its component has ended.
    pub(super) fn forget(&self, name: &str) {
        let mut caches = self.lock();
        let Some(found) = caches.iter().position(|cache| *cache.name == *name) else { return };
        let CacheSync { monitor, removed, .. } = caches.remove(found).sync;
        removed.cancel();
        metrics::remove_controller(monitor.name());
        for probe in [Probe::Ready, Probe::Live] {
            self.health.remove(probe, name);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Cache>> {
        self.caches.lock()
    }
}

/// A store, and the component that fills it. When it ends, the store keeps the last state.
fn make<K: Cached>(
    monitor: WatchMonitor,
    api: Api<K>,
    config: watcher::Config,
    caches: Caches,
) -> (Store<K>, ReadStore, Component) {
    let (store, start) = configured_store(api, config, monitor.clone(), QUEUE);
    let (mut start, read) = (Some(start), ReadStore::from(&store));
    let filled = read.clone();
    let component = Component::new(move |stop| {
        caches.choose_lists(&monitor);
        let events = start.take().map(|start| start());
        fill(monitor.clone(), events, filled.clone(), caches.refusals.clone(), stop)
    });
    (store, read, component)
}

/// Runs the watch of a cache. A component that is started again has no events.
async fn fill<E>(
    monitor: WatchMonitor,
    events: Option<impl futures::Stream<Item = watcher::Result<watcher::Event<E>>>>,
    filled: ReadStore,
    refusals: Refusals,
    stop: CancellationToken,
) -> Result<(), BoxError> {
    let Some(events) = events else { return Ok(()) };
    let filling = events.for_each(|event| {
        filled.observe(&event);
        if let Err(error) = event {
            tracing::warn!(name = monitor.name(), error = %kube_client::error::ErrorChain(&error), "the watch of a shared cache failed, and is retried");
            refusals.note(&error);
        }
        std::future::ready(())
    });
    tokio::select! {
        () = filling => {}
        () = stop.cancelled() => {}
    }
    Ok(())
}

/// Name and store of the cache of this collection.
fn find<'a, K: Cached>(
    caches: &'a [Cache],
    api: &Api<K>,
    config: &watcher::Config,
) -> Option<(&'a Arc<str>, &'a Store<K>)> {
    let (client, collection, prune) =
        (api.clone().into_client(), collection(api, config), prune(api, config));
    let mut found = caches.iter().filter(|cache| {
        cache.collection == collection
            && cache.prune == prune
            && cache.compact == config.is_compact()
            && cache.client.is_clone_of(&client)
    });
    found.find_map(|cache| Some((&cache.name, cache.store.downcast_ref()?)))
}

/// Another client or another type may have a cache of the same collection.
fn free_name(caches: &[Cache], collection: &str) -> Arc<str> {
    let mut name: Arc<str> = format!("cache of {collection}").into();
    let mut number = 1;
    while caches.iter().any(|cache| cache.name == name) {
        number += 1;
        name = format!("cache of {collection} ({number})").into();
    }
    name
}

/// What the decoder of a watch skips.
fn prune<K: Resource>(api: &Api<K>, config: &watcher::Config) -> Prune {
    let prune = api.pruned().clone().and(&config.prune);
    if config.managed_fields { prune } else { prune.managed_fields() }
}

/// URL and selectors of what is cached, such as `/api/v1/pods with labels app=web`.
fn collection<K: Resource>(api: &Api<K>, config: &watcher::Config) -> String {
    let labels = config.label_selector.as_ref().map(|labels| format!("labels {labels}"));
    let fields = config.field_selector.as_ref().map(|fields| format!("fields {fields}"));
    let selectors: Vec<String> = labels.into_iter().chain(fields).collect();
    match selectors.is_empty() {
        true => api.resource_url().to_owned(),
        false => format!("{} with {}", api.resource_url(), selectors.join(" and ")),
    }
}
