//! The shell around the machine: performs its requests, waits where it says, hands out its events.

use super::{
    CollectionEvent, Config, Event, Result,
    machine::{Input, Machine, Next, Read},
    pages::Pages,
    projection::{self, ObjectState},
    retry::RetryBackoff,
    source::{Messages, Source, Watchable},
};
use crate::delay::after;
use futures::{Stream, StreamExt, stream};
use kube_client::Api;
use kube_core::{PartialObjectMeta, Resource};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, future::ready, io, time::Duration, vec};
use tokio::time::{Instant, sleep_until, timeout};

/// How long the server may take to start answering a watch, or the question before it.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Watches all objects of `api` that `watcher_config` selects, for ever.
///
/// See [`Event`] for what comes and in which order, and the [module](mod@crate::watcher) for what happens on errors. Nothing
/// happens unless the stream is polled. Dropping it ends its requests.
///
/// # Cost
///
/// One watch at a time. Of the listed objects, two pages are held: the one that is used, and the next one, which tasks of the watcher ask
/// for and decode meanwhile, on another thread of the runtime where it has one.
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
    public_events(Source::of(api), watcher_config)
}

/// Watches only the metadata of objects: what the server sends leaves out everything else.
#[deprecated(since = "3.1.0", note = "use `watcher` with `Api<PartialObjectMeta<K>>`")]
pub fn metadata_watcher<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static>(
    api: Api<K>,
    watcher_config: Config,
) -> impl Stream<Item = Result<Event<PartialObjectMeta<K>>>> + Send {
    metadata_events(api, watcher_config)
}

/// The events of objects reduced to their metadata by the server.
fn metadata_events<K: Watchable>(
    api: Api<K>,
    config: Config,
) -> impl Stream<Item = Result<Event<PartialObjectMeta<K>>>> + Send {
    public_events(Source::of(api), config)
}

/// Watches the one object of this name: its present state, then every change; `None` whenever it is not there.
///
/// After a reconnection the present state may come again unchanged. Errors are items, as with
/// [`watcher`](fn@watcher).
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
/// assert_eq!(states.try_next().await?, Some(None), "it is not there");
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

/// Like [`watch_object`], and it tells when the watch works although nothing happens.
pub(crate) fn object_states<K: Watchable>(
    api: Api<K>,
    name: &str,
) -> impl Stream<Item = Result<ObjectState<K>>> + Send + use<K> {
    let config = Config::default().fields(&format!("metadata.name={name}"));
    projection::states(collection_events(api, config, RetryBackoff::own()))
}

/// What happens to the objects of `api` that `config` selects. See [`CollectionEvent`].
///
/// Nothing else needs to pace it: waits are those of `retry`, and start over after a watch that lived. Each error is an
/// item, and the stream goes on. An object that cannot be decoded is no error, and costs no wait.
pub(crate) fn collection_events<K: Watchable>(
    api: Api<K>,
    config: Config,
    retry: RetryBackoff,
) -> impl Stream<Item = Result<CollectionEvent<K>>> + Send {
    run(Source::of(api), Machine::new(config, retry))
}

/// Like [`collection_events`], of objects reduced to their metadata by the server.
pub(crate) fn metadata_collection_events<K: Watchable>(
    api: Api<K>,
    config: Config,
    retry: RetryBackoff,
) -> impl Stream<Item = Result<CollectionEvent<PartialObjectMeta<K>>>> + Send {
    run(Source::of(api), Machine::new(config, retry))
}

fn public_events<K: Watchable>(
    source: Source,
    config: Config,
) -> impl Stream<Item = Result<Event<K>>> + Send {
    let machine = Machine::new(config, RetryBackoff::own());
    projection::Events::of(run(source, machine.relisting_undecodable_deletions()))
}

fn run<K: Watchable>(
    source: Source,
    machine: Machine,
) -> impl Stream<Item = Result<CollectionEvent<K>>> + Send {
    let source = source.without(machine.config.prune());
    let shell = Shell {
        pages: Pages::new(source.clone()),
        source,
        machine,
        messages: None,
        outbox: Vec::new().into_iter(),
        wake: Instant::now(),
    };
    stream::unfold(shell, |mut shell| async move {
        let event = shell.next().await.map_err(|error| error.in_collection(shell.source.path()));
        Some((event, shell))
    })
}

struct Shell<K: Clone> {
    machine: Machine,
    source: Source,
    /// The list that runs, if one does.
    pages: Pages<K>,
    /// The watch that runs, if one does.
    messages: Option<Messages<K>>,
    outbox: vec::IntoIter<Result<CollectionEvent<K>>>,
    /// Not before this time may the next request be made.
    wake: Instant,
}

impl<K: Watchable> Shell<K> {
    async fn next(&mut self) -> Result<CollectionEvent<K>> {
        loop {
            if let Some(event) = self.outbox.next() {
                return event;
            }
            let input = self.perform().await;
            let now = Instant::now();
            let step = self.machine.step(input, now);
            self.outbox = step.emit.into_iter();
            self.wake = after(now, step.wait);
        }
    }

    async fn perform(&mut self) -> Input<K> {
        let next = self.machine.next();
        if let (Next::Read { silence }, Some(messages)) = (&next, &mut self.messages) {
            return Input::Read(match timeout(*silence, messages.next()).await {
                Ok(Some(Ok(message))) => Read::Message(message),
                Ok(Some(Err(error))) => Read::Broken(error),
                Ok(None) => Read::Ended,
                Err(_elapsed) => Read::Silent,
            });
        }
        if self.messages.take().is_some() {
            tracing::debug!(collection = self.source.path(), "a watch is over");
        }
        if self.wake > Instant::now() {
            sleep_until(self.wake).await;
        }
        if let Next::List(params) = next {
            if params.continue_token.is_none() {
                let version = params.resource_version.as_deref();
                tracing::debug!(collection = self.source.path(), version, "listing");
            }
            return Input::Listed(self.pages.get(&params).await);
        }
        self.pages.forget();
        match next {
            Next::Probe => {
                let answer = timeout(START_TIMEOUT, self.source.version()).await;
                Input::Probed(answer.unwrap_or_else(|_elapsed| Err(no_answer())))
            }
            Next::Watch(params, version) => {
                let (collection, initial_events) = (self.source.path(), params.send_initial_events);
                tracing::debug!(collection, version, initial_events, "watching");
                let answer = timeout(START_TIMEOUT, self.source.watch(&params, &version)).await;
                Input::Started(answer.unwrap_or_else(|_elapsed| Err(no_answer())).map(|messages| {
                    self.messages = Some(messages);
                }))
            }
            Next::Read { .. } | Next::List(_) => unreachable!("invariant: they were handled above"),
        }
    }
}

fn no_answer() -> kube_client::Error {
    let what = "the server did not start to answer the watch in time";
    kube_client::Error::ReadEvents(io::Error::new(io::ErrorKind::TimedOut, what))
}
