//! The shell around the machine: performs what it needs, and returns its events as a stream.

use super::{
    CollectionEvent, Config, Event, Result,
    arc_object::ArcObject,
    delivered::{self, Delivered},
    error::{ErasedResult, RequestError, in_collection},
    health::WatchHealth,
    lister_watcher::{ListerWatcher, Watchable},
    machine::{Input, Machine, Next, Read},
    pager::Pager,
    projection::{self, ObjectState},
    raw_object::RawObject,
    registry::{RegisteredWatch, WatchSettings},
    requests::{Requests, Response},
    retry::RetryBackoff,
    watch_status::Received,
};
use futures::{Stream, StreamExt, stream, stream::BoxStream};
use kube_client::{
    Api,
    client::{ClusterChange, DecodeBy, KnownObjects, Prune},
};
use kube_core::{DeserializeGuard, PartialObjectMeta, Resource, WatchEvent};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, future::ready, sync::Arc, vec};
use tokio::time::{Instant, timeout};

/// Watches all objects of `api` that `watcher_config` selects. The stream never ends.
///
/// See [`Event`] for the events and their order, and the [module](mod@crate::watcher) for errors and retries. The watcher does
/// nothing unless the stream is polled. Dropping the stream cancels its requests.
///
/// # Cost
///
/// One watch request at a time. A list holds two pages in memory as text: the current one and the next one, which a task requests in the
/// background. Objects are decoded as they are read, and a few of them ahead of that, on other threads of the runtime if it has any.
///
/// ```
/// # use kube_client::{Api, Client};
/// # use kube_runtime::{WatchStreamExt, watcher};
/// use futures::TryStreamExt;
/// use k8s_openapi::api::core::v1::Pod;
///
/// async fn show(client: Client) -> watcher::Result<()> {
///     let pods: Api<Pod> = Api::default_namespaced(client);
///     watcher(pods, watcher::Config::default())
///         .default_backoff()
///         .try_for_each(|event| async move {
///             println!("{event}");
///             Ok(())
///         })
///         .await
/// }
/// ```
pub fn watcher<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static>(
    api: Api<K>,
    watcher_config: Config,
) -> impl Stream<Item = Result<Event<K>>> + Send {
    public_events(ListerWatcher::new(api), watcher_config, None)
}

/// Like [`watcher()`], as a watch of this registry.
pub(super) fn registered_watcher<K: Watchable>(
    api: Api<K>,
    config: Config,
    settings: &WatchSettings,
) -> impl Stream<Item = Result<Event<K>>> + Send + use<K> {
    let watch = settings.register(api.namespace());
    public_events(ListerWatcher::new(api), config, watch)
}

/// Watches only the metadata of objects: the server sends nothing else.
#[deprecated(since = "3.1.0", note = "use `watcher` with `Api<PartialObjectMeta<K>>`")]
pub fn metadata_watcher<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static>(
    api: Api<K>,
    watcher_config: Config,
) -> impl Stream<Item = Result<Event<PartialObjectMeta<K>>>> + Send {
    metadata_events(api, watcher_config)
}

fn metadata_events<K: Watchable>(
    api: Api<K>,
    config: Config,
) -> impl Stream<Item = Result<Event<PartialObjectMeta<K>>>> + Send {
    public_events(ListerWatcher::new(api), config, None)
}

/// Watches one object by name: its current state, then every change; `None` if it does not exist or was deleted.
///
/// After a reconnection the same state may be repeated. Errors are items of the stream, as with [`watcher`](fn@watcher).
///
/// ```
/// use futures::TryStreamExt;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client};
/// use kube_core::params::PostParams;
/// use kube_runtime::watcher::watch_object;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(kube_testserver::ApiServer::new(), "default"));
/// let mut states = Box::pin(watch_object(maps.clone(), "a"));
/// assert_eq!(states.try_next().await?, Some(None), "it does not exist");
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("a".into());
/// let created = maps.create(&PostParams::default(), &map).await?;
/// assert_eq!(states.try_next().await?, Some(Some(created)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn watch_object<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static>(
    api: Api<K>,
    name: &str,
) -> impl Stream<Item = Result<Option<K>>> + Send + use<K> {
    object_states(api, name).filter_map(|state| {
        ready(match state {
            Ok(ObjectState::Known(object)) => Some(Ok(object)),
            Ok(ObjectState::Unchanged) => None,
            Err(error) => Some(Err(error)),
        })
    })
}

/// Like [`watch_object`], with an item also when the watch makes progress without a change.
pub(crate) fn object_states<K: Watchable>(
    api: Api<K>,
    name: &str,
) -> impl Stream<Item = Result<ObjectState<K>>> + Send + use<K> {
    let config = Config::default().fields(&format!("metadata.name={name}"));
    projection::object_states(collection_events(api, config, RetryBackoff::built_in().into()))
}

/// The events of the objects of `api` that `config` selects. See [`CollectionEvent`].
///
/// It waits after errors by itself, so it needs no backoff behind it. Errors are items and do not end the stream. An
/// undecodable object is an event, not an error, and causes no wait.
pub(crate) fn collection_events<K: Watchable>(
    api: Api<K>,
    config: Config,
    settings: WatchSettings,
) -> impl Stream<Item = ErasedResult<CollectionEvent<K>>> + Send {
    let watch = settings.register(api.namespace());
    run(ListerWatcher::new(api), settings.machine(config), watch, KnownObjects::default())
}

/// Like [`collection_events`], for a store that has the objects of `known`: a list does not decode these, and returns them as they are.
pub(crate) fn cached_collection_events<K: Watchable + Sync>(
    api: Api<K>,
    config: Config,
    settings: WatchSettings,
    known: KnownObjects<Arc<K>>,
) -> impl Stream<Item = ErasedResult<CollectionEvent<Arc<K>>>> + Send {
    let watch = settings.register(api.namespace());
    let known = known.map(ArcObject::new);
    run_cached(ListerWatcher::new(api), settings.machine(config), watch, known)
        .map(|event| event.map(|event| event.map(|received| received.object)))
}

/// Like [`collection_events`], for the metadata of objects only.
pub(crate) fn metadata_collection_events<K: Watchable>(
    api: Api<K>,
    config: Config,
    settings: WatchSettings,
) -> impl Stream<Item = ErasedResult<CollectionEvent<PartialObjectMeta<K>>>> + Send {
    let watch = settings.register(api.namespace());
    run(ListerWatcher::new(api), settings.machine(config), watch, KnownObjects::default())
}

/// Like [`collection_events`], for objects as received, and those of `known` as they are kept. The fields that `api` and `config` prune
/// are in them.
pub(crate) fn raw_collection_events<K: Resource, T: Clone + Debug + Send + Sync + 'static>(
    api: Api<K>,
    config: Config,
    settings: WatchSettings,
    known: KnownObjects<RawObject<T>>,
) -> impl Stream<Item = ErasedResult<CollectionEvent<RawObject<T>>>> + Send {
    let watch = settings.register(api.namespace());
    let config = Config { prune: Prune::default(), managed_fields: true, ..config };
    run_cached(ListerWatcher::raw(api), settings.machine(config), watch, known)
}

fn public_events<K: Watchable>(
    lister_watcher: ListerWatcher,
    config: Config,
    watch: Option<Arc<RegisteredWatch>>,
) -> impl Stream<Item = Result<Event<K>>> + Send {
    let machine = Machine::new(config, RetryBackoff::built_in());
    let machine = machine.relisting_undecodable_deletions();
    projection::PublicEvents::new(run(lister_watcher, machine, watch, KnownObjects::default()))
}

/// For a consumer that has the objects of `known` in these versions, as far as they were delivered to it here with the same content.
fn run_cached<K: Watchable + delivered::Received>(
    lister_watcher: ListerWatcher,
    machine: Machine,
    watch: Option<Arc<RegisteredWatch>>,
    known: KnownObjects<K>,
) -> impl Stream<Item = ErasedResult<CollectionEvent<K>>> + Send {
    let delivered = Arc::new(Delivered::default());
    let (asked, noted) = (Arc::clone(&delivered), Arc::clone(&delivered));
    let known = known
        .if_same(move |version, content| asked.has(version.uid, content))
        .noting(move |object: &mut K, content| object.set_content_hash(noted.hash(content)));
    run(lister_watcher, machine, watch, known).inspect(move |event| {
        if let Ok(event) = event {
            delivered.observe(event);
        }
    })
}

fn run<K: Watchable>(
    lister_watcher: ListerWatcher,
    machine: Machine,
    watch: Option<Arc<RegisteredWatch>>,
    known: KnownObjects<K>,
) -> impl Stream<Item = ErasedResult<CollectionEvent<K>>> + Send {
    let lister_watcher = Arc::new(lister_watcher.pruned(&machine.config.pruned()).read_as::<K>());
    let machine = machine.on_server(lister_watcher.supports_streaming_lists());
    let shell = WatcherShell {
        machine,
        pager: Pager::new(Arc::clone(&lister_watcher)),
        requests: Requests { lister_watcher, not_before: Instant::now(), watch },
        known,
        decode_by: DecodeBy::Tasks,
        messages: None,
        outbox: Vec::new().into_iter(),
        synced: false,
        health: WatchHealth::default(),
    };
    let cluster = shell.requests.lister_watcher.cluster_change();
    if let Some(watch) = &shell.requests.watch {
        watch.starts(&cluster);
    }
    stream::unfold((shell, cluster), |(mut shell, mut cluster)| async move {
        let event = shell.next(&mut cluster).await;
        let event = event.map_err(|error| in_collection(error, shell.requests.lister_watcher.path()));
        Some((event, (shell, cluster)))
    })
}

/// The messages of one watch request. An undecodable object is a message too.
type Messages<K> = BoxStream<'static, Result<WatchEvent<DeserializeGuard<K>>, RequestError>>;

struct WatcherShell<K: Watchable> {
    machine: Machine,
    requests: Requests,
    /// What the cache has, which lists do not decode once more.
    known: KnownObjects<K>,
    pager: Pager<K>,
    /// Who decodes the next list.
    decode_by: DecodeBy,
    /// The running watch.
    messages: Option<Messages<K>>,
    outbox: vec::IntoIter<ErasedResult<CollectionEvent<K>>>,
    /// Whether the last item of `outbox` completes a list.
    synced: bool,
    /// What the items in `outbox` say about the watch.
    health: WatchHealth,
}

impl<K: Watchable> WatcherShell<K> {
    async fn next(&mut self, cluster: &mut ClusterChange) -> ErasedResult<CollectionEvent<K>> {
        loop {
            if let Some(event) = self.outbox.next() {
                self.health.report();
                if self.outbox.len() == 0 {
                    // Frees the memory: a list may have been large, and the next event may be far away.
                    self.outbox = Vec::new().into_iter();
                }
                return event;
            }
            // Whoever asks for the next event has processed the one that completed the list.
            if std::mem::take(&mut self.synced)
                && let Some(watch) = &self.requests.watch
            {
                watch.shows_cluster(cluster.seen());
            }
            let input = self.perform_in(cluster).await;
            let now = Instant::now();
            let received = Received::of(&input);
            let step = self.machine.step(input, now);
            if self.machine.take_streaming_unsupported() {
                self.requests.lister_watcher.streaming_lists_are_unsupported();
            }
            self.requests.stepped(received, &step, now);
            if let Some(Ok(CollectionEvent::Synced { .. })) = step.emit.last() {
                self.decode_by = DecodeBy::Reader; // most objects of a relist are unchanged, and dropped
                self.synced = true;
            }
            self.health = step.health;
            self.outbox = step.emit.into_iter();
        }
    }

    /// Performs what is next, unless the client leads to another cluster meanwhile: then all that runs is of the old one.
    async fn perform_in(&mut self, cluster: &mut ClusterChange) -> Input<K> {
        let input = tokio::select! {
            biased;
            input = self.perform() => input,
            () = cluster.next() => Input::AnotherCluster,
        };
        if !matches!(input, Input::AnotherCluster) && !cluster.take() {
            return input;
        }
        self.messages = None;
        self.pager.cancel();
        Input::AnotherCluster
    }

    async fn perform(&mut self) -> Input<K> {
        let next = self.machine.next();
        if next == Next::ReadList {
            return Input::Listed(self.pager.read().await);
        }
        if let (Next::Read { idle_timeout }, Some(messages)) = (&next, &mut self.messages) {
            return Input::Read(match timeout(*idle_timeout, messages.next()).await {
                Ok(Some(Ok(message))) => Read::Message(message),
                Ok(Some(Err(error))) => Read::Failed(error),
                Ok(None) => Read::Closed,
                Err(_elapsed) => Read::IdleTimeout,
            });
        }
        if self.messages.take().is_some() {
            self.requests.watch_ended();
        }
        if !matches!(next, Next::List(_)) {
            self.pager.cancel();
        }
        match self.requests.send(next).await {
            Response::List(params) => {
                let known = self.known_objects();
                Input::Listed(self.pager.get(&params, &known, self.decode_by).await)
            }
            Response::Version(version) => Input::VersionChecked(version),
            Response::Watch { initial_events, response } => Input::WatchStarted(response.map(|response| {
                self.messages = Some(match initial_events {
                    true => response.many_events(self.known_objects(), self.decode_by).boxed(),
                    false => response.guarded_events(self.known.clone()).boxed(),
                });
            })),
        }
    }

    /// What a list need not decode. Nothing after the storage went back: there, equal versions do not mean equal objects.
    fn known_objects(&self) -> KnownObjects<K> {
        if self.machine.history_lost() { self.known.clone().only_noting() } else { self.known.clone() }
    }
}
