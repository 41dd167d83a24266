//! Helpers that most tests use: server and client, short object constructors, and assertions on streams. The tests of kube-operator include
//! this file.

#![allow(dead_code)] // each of the two uses a part

use futures::{Stream, StreamExt, channel::mpsc, future::ready};
use k8s_openapi::{NamespaceResourceScope, api::core::v1::ConfigMap};
use kube_client::{Api, Client};
use kube_core::{
    ObjectMeta, Resource,
    params::{DeleteParams, Patch, PatchParams, PostParams},
};
use kube_runtime::{
    Controller,
    controller::{Action, Error, Own},
    reflector::ObjectRef,
    watcher,
};
use kube_testserver::ApiServer;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{fmt::Debug, future::Future, hash::Hash, sync::OnceLock, time::Duration};
use tokio::{task::JoinHandle, time::timeout};
use tracing::{Dispatch, dispatcher::DefaultGuard};

/// A new, empty API server and a client of it.
pub(crate) fn server() -> (ApiServer, Client) {
    let server = ApiServer::new();
    (server.clone(), Client::new(server, "default"))
}

pub(crate) fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

/// A controller for the objects in these namespaces.
pub(crate) fn in_namespaces<K>(
    client: Client,
    namespaces: impl IntoIterator<Item: Into<String>>,
    config: watcher::Config,
) -> Controller<K>
where
    K: Resource<DynamicType: Default + Eq + Hash + Clone, Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + Sync
        + 'static,
{
    Controller::for_own(Own::api(Api::all(client), config).namespaces(namespaces))
}

/// Sets the tracing subscriber of this thread until the guard is dropped.
///
/// While only one subscriber exists, tracing caches for the whole process whether a span or event is enabled, as decided
/// on the thread that reaches it first, which may have no subscriber. A second, permanent subscriber prevents the caching.
pub(crate) fn set_subscriber(subscriber: impl Into<Dispatch>) -> DefaultGuard {
    static PERMANENT: OnceLock<Dispatch> = OnceLock::new();
    PERMANENT.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
    tracing::dispatcher::set_default(&subscriber.into())
}

/// An object with only a name.
pub(crate) fn named<K: Default + Resource>(name: &str) -> K {
    let mut object = K::default();
    object.meta_mut().name = Some(name.to_owned());
    object
}

/// An object with a name and one label.
pub(crate) fn labelled<K: Default + Resource>(name: &str, label: (&str, &str)) -> K {
    let mut object: K = named(name);
    object.meta_mut().labels = Some([(label.0.to_owned(), label.1.to_owned())].into());
    object
}

/// An object with a controller owner reference to `owner`.
pub(crate) fn owned<K, O>(name: &str, owner: &O) -> K
where
    K: Default + Resource,
    O: Resource<DynamicType = ()>,
{
    let owner_references = owner.controller_owner_ref(&()).into_iter().collect();
    let mut object = K::default();
    *object.meta_mut() = ObjectMeta {
        name: Some(name.to_owned()),
        owner_references: Some(owner_references),
        ..Default::default()
    };
    object
}

/// Short forms of the API calls that tests make.
pub(crate) trait ApiExt<K> {
    fn add(&self, object: K) -> impl Future<Output = K>;
    fn merge(&self, name: &str, change: Value) -> impl Future<Output = K>;
    fn touch(&self, name: &str, value: &str) -> impl Future<Output = K>;
    fn remove(&self, name: &str) -> impl Future<Output = ()>;
}

impl<K> ApiExt<K> for Api<K>
where
    K: Resource<Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Serialize + Debug,
{
    async fn add(&self, object: K) -> K {
        self.create(&PostParams::default(), &object).await.unwrap()
    }

    async fn merge(&self, name: &str, change: Value) -> K {
        self.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap()
    }

    async fn touch(&self, name: &str, value: &str) -> K {
        self.merge(name, json!({ "metadata": { "annotations": { "touched": value } } })).await
    }

    async fn remove(&self, name: &str) {
        self.delete(name, &DeleteParams::default()).await.unwrap();
    }
}

/// The next item. Panics if none arrives within a minute of tokio's clock.
#[track_caller]
pub(crate) fn expect_next<S: Stream + Unpin>(stream: &mut S) -> impl Future<Output = S::Item> {
    let caller = std::panic::Location::caller();
    async move {
        match timeout(Duration::from_secs(60), stream.next()).await {
            Ok(Some(item)) => item,
            Ok(None) => panic!("the stream has ended, at {caller}"),
            Err(_elapsed) => panic!("no item within a minute, at {caller}"),
        }
    }
}

/// Panics if an item arrives within ten seconds of tokio's clock.
#[track_caller]
pub(crate) fn assert_idle<S>(stream: &mut S) -> impl Future<Output = ()>
where
    S: Stream<Item: Debug> + Unpin,
{
    let caller = std::panic::Location::caller();
    async move {
        if let Ok(item) = timeout(Duration::from_secs(10), stream.next()).await {
            panic!("unexpected item {item:?}, at {caller}");
        }
    }
}

/// Waits until `condition` holds. Panics after a minute of tokio's clock.
pub(crate) async fn eventually<F: Future<Output = bool>>(mut condition: impl FnMut() -> F) {
    let reached = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), reached).await.expect("the condition holds within a minute");
}

/// An error policy: no retry.
pub(crate) fn wait_for_change<K, E, C>(_object: K, _error: &E, _context: C) -> Action {
    Action::await_change()
}

/// The error type of the reconcilers in tests.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TestError(pub(crate) &'static str);

/// The first part of the message, without the causes that follow it.
fn without_causes(error: &impl std::error::Error) -> String {
    error.to_string().split(": ").next().unwrap_or_default().to_owned()
}

/// Polls a controller's output in a task and forwards each item as text: `done: NAME`, or the error without its causes.
pub(crate) fn spawn_outputs<K, E>(
    output: impl Stream<Item = Result<(ObjectRef<K>, Action), Error<E, watcher::Error>>> + Send + 'static,
) -> Outputs
where
    K: Resource<DynamicType = ()> + 'static,
    E: std::error::Error + Send + 'static,
{
    let (send, receive) = mpsc::unbounded();
    let texts = output.map(|item| {
        item.map_or_else(|error| without_causes(&error), |(object, _)| format!("done: {}", object.name))
    });
    let task = tokio::spawn(texts.for_each(move |item| {
        send.unbounded_send(item).ok();
        ready(())
    }));
    Outputs { items: receive, task }
}

/// The output of a controller that runs in a task; the task is aborted on drop.
pub(crate) struct Outputs {
    pub(crate) items: mpsc::UnboundedReceiver<String>,
    pub(crate) task: JoinHandle<()>,
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.task.abort();
    }
}
