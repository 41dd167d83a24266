//! The shell around [`NamespaceSet`]: polls the watches and runs the timer.

use super::{
    namespace_set::{NamespaceChange, NamespaceEvent, NamespaceSet},
    object_ref::Lookup,
    store::{IndexPanic, Writer},
};
use crate::{
    capacity::release,
    watcher::{self, Event},
};
use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, AbortHandle, BoxStream, SelectAll},
};
use hashbrown::HashMap;
use std::{future::ready, hash::Hash, pin::Pin, sync::Arc, time::Duration, vec};
use tokio::time::{Sleep, sleep};

/// How long listed namespaces wait for the others before the store becomes ready.
pub(super) const INITIAL_SYNC_TIMEOUT: Duration = Duration::from_secs(30);

/// Watches several namespaces as one stream and one store.
///
/// Each item of `namespaces` replaces the list of watched namespaces. `stream::iter([["a", "b"]])` is a list that does not
/// change (for the objects of a controller there is [`Own::namespaces`](crate::controller::Own::namespaces)). `watch`
/// returns the watch of one namespace; put adapters there that belong before the store, such as
/// [`modify`](crate::WatchStreamExt::modify). Use it in a program that may not list the whole cluster, or should not.
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
/// One [`Event::Init`], the objects of each namespace when its initial list is complete, one [`Event::InitDone`], then changes. A
/// namespace that is relisted or added later changes the store atomically, with an [`Event::Apply`] for each new or changed object
/// and an [`Event::Delete`], with the last known state, for each deleted one. When a namespace is removed, its objects are deleted
/// from the store with an [`Event::Delete`] each.
///
/// The stream ends when `namespaces` and all watches have ended.
///
/// # Failures
///
/// An error of one namespace is an item of the stream and does not affect the others. If the initial list of a namespace is
/// refused (forbidden, say) or not complete 30 s after the start, `InitDone` no longer waits for it, as soon as one namespace
/// is complete; the namespace is treated as empty until its list arrives. If a watch fails later, its last known objects stay.
///
/// # Cost
///
/// The requests and connections of one watcher per namespace, and a second copy of all object names. While a namespace is listed,
/// its objects are held in memory until the list is complete.
pub fn reflect_namespaces<K, N, S>(
    writer: Writer<K>,
    namespaces: N,
    mut watch: impl FnMut(&str) -> S + Send,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
    N: Stream<Item: IntoIterator<Item: Into<String>>> + Send,
    S: Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
{
    let watch = move |namespace: &str| watch(namespace).map_err(watcher::ErasedError::from);
    follow_namespaces(writer, namespaces, watch).map_err(watcher::ErasedError::into_error).try_filter_map(
        |item| {
            ready(Ok(match item {
                StoreChange::Event(event) => Some(event.map(|object| (*object).clone())),
                StoreChange::IndexPanic(_) => None, // it was logged
            }))
        },
    )
}

/// What a writer has applied to a store.
pub(crate) enum StoreChange<K> {
    Event(Event<Arc<K>>),
    /// An index function panicked at the object of the next event.
    IndexPanic(IndexPanic),
}

/// Like [`reflect_namespaces`], with the `Arc`s in the store and the panics of index functions.
pub(crate) fn follow_namespaces<K, N, S, E>(
    writer: Writer<K>,
    namespaces: N,
    watch: impl FnMut(&str) -> S + Send,
) -> impl Stream<Item = watcher::ErasedResult<StoreChange<K>>> + Send
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
    N: Stream<Item: IntoIterator<Item: Into<String>>> + Send,
    S: Stream<Item = watcher::ErasedResult<E>> + Send + 'static,
    E: Into<NamespaceEvent<K>> + 'static,
{
    let namespaces = namespaces
        .map(|list| NamespacesInput::Namespaces(list.into_iter().map(Into::into).collect()))
        .chain(stream::once(ready(NamespacesInput::NoMoreNamespaces)));
    let shell = NamespacesShell {
        set: NamespaceSet::new(writer),
        namespaces: Some(Box::pin(namespaces)),
        watch,
        watches: SelectAll::new(),
        aborts: HashMap::new(),
        sync_timeout: None,
        outbox: Vec::new().into_iter(),
    };
    stream::unfold(shell, |mut shell| async move {
        let item = shell.next().await?;
        Some((item, shell))
    })
}

/// An input of the shell.
enum NamespacesInput<K> {
    Namespaces(Vec<String>),
    NoMoreNamespaces,
    Event(String, watcher::ErasedResult<NamespaceEvent<K>>),
    WatchEnded(String),
    SyncTimeout,
    /// All streams have ended.
    Finished,
}

struct NamespacesShell<K, N, F>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    set: NamespaceSet<K>,
    namespaces: Option<Pin<Box<N>>>,
    watch: F,
    watches: SelectAll<BoxStream<'static, NamespacesInput<K>>>,
    aborts: HashMap<String, AbortHandle>,
    /// Runs from the first item of `namespaces` until the initial sync is complete.
    sync_timeout: Option<Pin<Box<Sleep>>>,
    outbox: vec::IntoIter<watcher::ErasedResult<StoreChange<K>>>,
}

impl<K, N, S, F, E> NamespacesShell<K, N, F>
where
    K: Lookup + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
    N: Stream<Item = NamespacesInput<K>>,
    F: FnMut(&str) -> S,
    S: Stream<Item = watcher::ErasedResult<E>> + Send + 'static,
    E: Into<NamespaceEvent<K>> + 'static,
{
    async fn next(&mut self) -> Option<watcher::ErasedResult<StoreChange<K>>> {
        loop {
            if let Some(item) = self.outbox.next() {
                return Some(item);
            }
            let mut emit = Vec::new();
            let mut error = None;
            match self.input().await {
                NamespacesInput::Namespaces(list) => {
                    let change = self.set.set_namespaces(list, &mut emit);
                    self.update_watches(change);
                }
                NamespacesInput::NoMoreNamespaces => self.namespaces = None,
                NamespacesInput::Event(namespace, Ok(event)) => {
                    error = self.set.event(&namespace, event, &mut emit).map(Err);
                }
                NamespacesInput::Event(namespace, Err(failure)) => {
                    self.set.failed(&namespace, failure.get(), &mut emit);
                    error = Some(Err(failure));
                }
                NamespacesInput::WatchEnded(namespace) => self.set.watch_ended(&namespace, &mut emit),
                NamespacesInput::SyncTimeout => {
                    self.sync_timeout = None;
                    self.set.on_sync_timeout(&mut emit);
                }
                NamespacesInput::Finished => return None,
            }
            if self.set.is_synced() {
                self.sync_timeout = None;
            }
            let panics = self.set.take_index_panics().into_iter().map(StoreChange::IndexPanic);
            let items = panics.chain(emit.into_iter().map(StoreChange::Event)).map(Ok);
            self.outbox = error.into_iter().chain(items).collect::<Vec<_>>().into_iter();
        }
    }

    async fn input(&mut self) -> NamespacesInput<K> {
        let Self { namespaces, watches, sync_timeout, .. } = self;
        loop {
            if namespaces.is_none() && watches.is_empty() {
                return NamespacesInput::Finished;
            }
            let change = async {
                match namespaces {
                    Some(namespaces) => namespaces.next().await.unwrap_or(NamespacesInput::NoMoreNamespaces),
                    None => std::future::pending().await,
                }
            };
            let timeout = async {
                match sync_timeout {
                    Some(timeout) => timeout.await,
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
                () = timeout => return NamespacesInput::SyncTimeout,
            }
        }
    }

    /// Starts and stops watches.
    fn update_watches(&mut self, NamespaceChange { added, removed }: NamespaceChange) {
        for namespace in removed {
            if let Some(watch) = self.aborts.remove(&namespace) {
                watch.abort();
            }
        }
        release(&mut self.aborts);
        for namespace in added {
            let end = NamespacesInput::WatchEnded(namespace.clone());
            let tag = namespace.clone();
            let events = (self.watch)(&namespace)
                .map(move |item| NamespacesInput::Event(tag.clone(), item.map(Into::into)));
            let (events, abort) = stream::abortable(events.chain(stream::once(ready(end))));
            self.watches.push(events.boxed());
            self.aborts.insert(namespace, abort);
        }
        if !self.set.is_synced() && self.sync_timeout.is_none() {
            self.sync_timeout = Some(Box::pin(sleep(INITIAL_SYNC_TIMEOUT)));
        }
    }
}
