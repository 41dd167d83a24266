//! What every test needs.

use futures::{Stream, StreamExt, channel::mpsc, future::ready};
use k8s_openapi::{NamespaceResourceScope, api::core::v1::ConfigMap};
use kube_client::{Api, Client};
use kube_core::{
    ObjectMeta, Resource,
    params::{DeleteParams, Patch, PatchParams, PostParams},
};
use kube_runtime::{
    controller::{Action, Error},
    reflector::ObjectRef,
    watcher,
};
use kube_testserver::ApiServer;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use std::{fmt::Debug, future::Future, sync::OnceLock, time::Duration};
use tokio::{task::JoinHandle, time::timeout};
use tracing::{Dispatch, dispatcher::DefaultGuard};

/// A fresh server and a client of it.
pub(crate) fn server() -> (ApiServer, Client) {
    let server = ApiServer::new();
    (server.clone(), Client::new(server, "default"))
}

pub(crate) fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

/// Makes `subscriber` the one of this thread, until the guard is dropped.
///
/// While a process has had a single subscriber, tracing decides for all threads by that of the thread that reaches a span or event first,
/// and a test on another thread has none. A second one, which stays, makes it ask each.
pub(crate) fn subscribe(subscriber: impl Into<Dispatch>) -> DefaultGuard {
    static SECOND: OnceLock<Dispatch> = OnceLock::new();
    SECOND.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
    tracing::dispatcher::set_default(&subscriber.into())
}

/// An object with nothing but a name.
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

/// A child of `owner`.
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

/// Short ways to change things.
pub(crate) trait Change<K> {
    fn add(&self, object: K) -> impl Future<Output = K>;
    fn touch(&self, name: &str, value: &str) -> impl Future<Output = K>;
    fn remove(&self, name: &str) -> impl Future<Output = ()>;
}

impl<K> Change<K> for Api<K>
where
    K: Resource<Scope = NamespaceResourceScope> + Clone + DeserializeOwned + Serialize + Debug,
{
    async fn add(&self, object: K) -> K {
        self.create(&PostParams::default(), &object).await.unwrap()
    }

    async fn touch(&self, name: &str, value: &str) -> K {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "touched": value } } }));
        self.patch(name, &PatchParams::default(), &patch).await.unwrap()
    }

    async fn remove(&self, name: &str) {
        self.delete(name, &DeleteParams::default()).await.unwrap();
    }
}

/// The next item, which must come within a minute (of the test's clock).
#[track_caller]
pub(crate) fn soon<S: Stream + Unpin>(stream: &mut S) -> impl Future<Output = S::Item> {
    let caller = std::panic::Location::caller();
    async move {
        match timeout(Duration::from_secs(60), stream.next()).await {
            Ok(Some(item)) => item,
            Ok(None) => panic!("the stream has ended, at {caller}"),
            Err(_elapsed) => panic!("nothing came, at {caller}"),
        }
    }
}

/// Fails unless the stream stays quiet for ten seconds.
#[track_caller]
pub(crate) fn quiet<S>(stream: &mut S) -> impl Future<Output = ()>
where
    S: Stream<Item: Debug> + Unpin,
{
    let caller = std::panic::Location::caller();
    async move {
        if let Ok(item) = timeout(Duration::from_secs(10), stream.next()).await {
            panic!("{item:?} came, at {caller}");
        }
    }
}

/// Waits until `condition` holds, for at most a minute of the test's clock.
pub(crate) async fn eventually<F: Future<Output = bool>>(mut condition: impl FnMut() -> F) {
    let reached = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), reached).await.expect("the condition is reached");
}

pub(crate) fn wait_for_change<K, E, C>(_object: K, _error: &E, _context: C) -> Action {
    Action::await_change()
}

/// A reconciler's error for tests.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(pub(crate) &'static str);

/// What failed, without why.
fn without_causes(error: &impl std::error::Error) -> String {
    error.to_string().split(": ").next().unwrap_or_default().to_owned()
}

/// Runs a controller's output in the background, and gives its items in words.
pub(crate) fn spawn_outputs<K, E>(
    output: impl Stream<Item = Result<(ObjectRef<K>, Action), Error<E, watcher::Error>>> + Send + 'static,
) -> Outputs
where
    K: Resource<DynamicType = ()> + 'static,
    E: std::error::Error + Send + 'static,
{
    let (send, receive) = mpsc::unbounded();
    let told = output.map(|item| {
        item.map_or_else(|error| without_causes(&error), |(object, _)| format!("done: {}", object.name))
    });
    let task = tokio::spawn(told.for_each(move |item| {
        send.unbounded_send(item).ok();
        ready(())
    }));
    Outputs { items: receive, task }
}

/// What a controller in the background says.
pub(crate) struct Outputs {
    pub(crate) items: mpsc::UnboundedReceiver<String>,
    pub(crate) task: JoinHandle<()>,
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.task.abort();
    }
}
