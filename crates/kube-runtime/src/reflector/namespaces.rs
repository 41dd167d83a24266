//! The shell around [`Parts`]: polls the watches, and counts the time.

use super::{
    Lookup,
    parts::{Change, PartEvent, Parts},
    store::{IndexPanic, Writer},
};
use crate::watcher::{self, Event};
use ahash::AHashMap;
use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, AbortHandle, BoxStream, SelectAll},
};
use std::{future::ready, hash::Hash, pin::Pin, sync::Arc, time::Duration, vec};
use tokio::time::{Sleep, sleep};

/// How long the namespaces that are listed wait for the others.
const PATIENCE: Duration = Duration::from_secs(30);

/// Watches a list of namespaces, which may change, as one stream and one store.
///
/// `namespaces` says which: each item is the whole list as it is from then on. `stream::iter([["a", "b"]])` is a list
/// that stays (for the objects of a controller there is
/// [`Controller::for_namespaces`](crate::Controller::for_namespaces)). `watch` makes the watch of one namespace; put there what belongs before the store, such as
/// [`modify`](crate::WatchStreamExt::modify). For a program that may not list the whole cluster, or does not want to.
///
/// ```
/// use futures::{StreamExt, stream};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client};
/// use kube_runtime::{Controller, WatchStreamExt, controller::Action, reflector, watcher};
/// # use kube_core::{ObjectMeta, params::PostParams};
/// # use std::{convert::Infallible, sync::Arc};
///
/// async fn run(client: Client) -> usize {
///     let (store, writer) = reflector::store::<ConfigMap>();
///     let maps = reflector::reflect_namespaces(writer, stream::iter([["shop", "stage"]]), move |namespace| {
///         watcher(Api::namespaced(client.clone(), namespace), watcher::Config::default()).default_backoff()
///     });
///     Controller::for_stream(maps.applied_objects(), store)
///         .run(
///             async |map: Arc<ConfigMap>, _| Ok::<_, Infallible>(Action::await_change()),
///             |_, _, _| Action::await_change(),
///             Arc::new(()),
///         )
///         .take(2)
///         .count()
///         .await
/// }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// # for namespace in ["shop", "stage", "elsewhere"] {
/// #     let named = |name: &str| ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
/// #     let object = k8s_openapi::api::core::v1::Namespace { metadata: named(namespace), ..Default::default() };
/// #     Api::all(client.clone()).create(&PostParams::default(), &object).await?;
/// #     let map = ConfigMap { metadata: named("a"), ..ConfigMap::default() };
/// #     Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &map).await?;
/// # }
/// # assert_eq!(run(client).await, 2);
/// # Ok::<(), kube_client::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Ordering
///
/// One [`Event::Init`], the objects of each namespace when its first list is complete, one [`Event::InitDone`], then changes. A
/// namespace that has to be listed again later, or joins later, changes the store at once and is told by
/// [`Event::Apply`] for each new or changed object and [`Event::Delete`] for each that is gone, in its last known state.
/// The objects of a namespace that leaves the list are told as deleted.
///
/// The stream ends when `namespaces` and every watch have ended.
///
/// # Failures
///
/// An error of one namespace is an item of the stream and no matter of the others. A namespace whose first list is
/// refused (forbidden, say), or is not complete 30 s after the start, no longer holds up `InitDone` as soon as one
/// namespace is complete: it counts as empty until its list arrives. One that fails later keeps its last known objects.
///
/// # Cost
///
/// Requests and connections as of one watcher per namespace; the names of all objects once more; while a namespace
/// lists, its objects are held until the list is complete.
pub fn reflect_namespaces<K, N, S>(
    writer: Writer<K>,
    namespaces: N,
    watch: impl FnMut(&str) -> S + Send,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
    N: Stream<Item: IntoIterator<Item: Into<String>>> + Send,
    S: Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
{
    follow_namespaces(writer, namespaces, watch).try_filter_map(|news| {
        ready(Ok(match news {
            PartsNews::Event(event) => Some(event.map(|object| (*object).clone())),
            PartsNews::IndexPanic(_) => None, // the log has it
        }))
    })
}

/// What the watches of several namespaces bring.
pub(crate) enum PartsNews<K> {
    Event(Event<Arc<K>>),
    /// An index function panicked at what comes next.
    IndexPanic(IndexPanic),
}

/// Like [`reflect_namespaces`], with the objects as they are in the store.
pub(crate) fn follow_namespaces<K, N, S, E>(
    writer: Writer<K>,
    namespaces: N,
    watch: impl FnMut(&str) -> S + Send,
) -> impl Stream<Item = watcher::Result<PartsNews<K>>> + Send
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
    N: Stream<Item: IntoIterator<Item: Into<String>>> + Send,
    S: Stream<Item = watcher::Result<E>> + Send + 'static,
    E: Into<PartEvent<K>> + 'static,
{
    let namespaces = namespaces
        .map(|list| Input::Namespaces(list.into_iter().map(Into::into).collect()))
        .chain(stream::once(ready(Input::NoMoreNamespaces)));
    let shell = Shell {
        parts: Parts::new(writer),
        namespaces: Some(Box::pin(namespaces)),
        watch,
        watches: SelectAll::new(),
        aborts: AHashMap::new(),
        patience: None,
        outbox: Vec::new().into_iter(),
    };
    stream::unfold(shell, |mut shell| async move {
        let item = shell.next().await?;
        Some((item, shell))
    })
}

/// What one of the watches, or somebody else, brought.
enum Input<K> {
    Namespaces(Vec<String>),
    NoMoreNamespaces,
    Event(String, watcher::Result<PartEvent<K>>),
    Ended(String),
    OutOfPatience,
    /// There is nothing left that could bring anything.
    Over,
}

struct Shell<K, N, F>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    parts: Parts<K>,
    namespaces: Option<Pin<Box<N>>>,
    watch: F,
    watches: SelectAll<BoxStream<'static, Input<K>>>,
    aborts: AHashMap<String, AbortHandle>,
    /// Runs from the first list of namespaces until the whole is complete.
    patience: Option<Pin<Box<Sleep>>>,
    outbox: vec::IntoIter<watcher::Result<PartsNews<K>>>,
}

impl<K, N, S, F, E> Shell<K, N, F>
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
    N: Stream<Item = Input<K>>,
    F: FnMut(&str) -> S,
    S: Stream<Item = watcher::Result<E>> + Send + 'static,
    E: Into<PartEvent<K>> + 'static,
{
    async fn next(&mut self) -> Option<watcher::Result<PartsNews<K>>> {
        loop {
            if let Some(item) = self.outbox.next() {
                return Some(item);
            }
            let mut emit = Vec::new();
            let mut error = None;
            match self.input().await {
                Input::Namespaces(list) => {
                    let change = self.parts.set(list, &mut emit);
                    self.follow(change);
                }
                Input::NoMoreNamespaces => self.namespaces = None,
                Input::Event(namespace, Ok(event)) => {
                    error = self.parts.event(&namespace, event, &mut emit).map(Err);
                }
                Input::Event(namespace, Err(failure)) => {
                    self.parts.failed(&namespace, &failure, &mut emit);
                    error = Some(Err(failure));
                }
                Input::Ended(namespace) => self.parts.ended(&namespace, &mut emit),
                Input::OutOfPatience => {
                    self.patience = None;
                    self.parts.lose_patience(&mut emit);
                }
                Input::Over => return None,
            }
            if self.parts.is_complete() {
                self.patience = None;
            }
            let panics = self.parts.take_index_panics().into_iter().map(PartsNews::IndexPanic);
            let news = panics.chain(emit.into_iter().map(PartsNews::Event)).map(Ok);
            self.outbox = error.into_iter().chain(news).collect::<Vec<_>>().into_iter();
        }
    }

    async fn input(&mut self) -> Input<K> {
        let Self { namespaces, watches, patience, .. } = self;
        loop {
            if namespaces.is_none() && watches.is_empty() {
                return Input::Over;
            }
            let change = async {
                match namespaces {
                    Some(namespaces) => namespaces.next().await.unwrap_or(Input::NoMoreNamespaces),
                    None => std::future::pending().await,
                }
            };
            let enough = async {
                match patience {
                    Some(patience) => patience.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                input = change => return input,
                input = watches.next(), if !watches.is_empty() => {
                    if let Some(input) = input {
                        return input;
                    } // otherwise the last watch has ended
                }
                () = enough => return Input::OutOfPatience,
            }
        }
    }

    /// Starts and ends watches.
    fn follow(&mut self, Change { joined, left }: Change) {
        for namespace in left {
            if let Some(watch) = self.aborts.remove(&namespace) {
                watch.abort();
            }
        }
        for namespace in joined {
            let end = Input::Ended(namespace.clone());
            let tag = namespace.clone();
            let events =
                (self.watch)(&namespace).map(move |item| Input::Event(tag.clone(), item.map(Into::into)));
            let (events, abort) = stream::abortable(events.chain(stream::once(ready(end))));
            self.watches.push(events.boxed());
            self.aborts.insert(namespace, abort);
        }
        if !self.parts.is_complete() && self.patience.is_none() {
            self.patience = Some(Box::pin(sleep(PATIENCE)));
        }
    }
}
