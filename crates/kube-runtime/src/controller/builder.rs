//! Making a controller.

use super::{
    Config, Controller,
    guard::CallbackPanic,
    request::{Asked, ReconcileRequest, urgency_of},
    shutdown::Shutdown,
    source::{Pacing, Sources, TriggerFactory, paced, present},
    trigger::{itself, trigger_self},
};
use crate::{
    backoff::Backoff,
    queue::Urgency,
    reflector::{
        Index, ObjectRef, PartsNews,
        store::{IndexPanic, Store, Writer},
    },
    watcher::{self, CollectionEvent, Event, collection_events},
};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{
    fmt::Debug,
    future::{Future, ready},
    hash::Hash,
    sync::Arc,
};

impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// A controller for the objects of `main_api` that `wc` selects.
    #[must_use]
    pub fn new(main_api: Api<K>, wc: watcher::Config) -> Self
    where
        K::DynamicType: Default,
    {
        Self::new_with(main_api, wc, K::DynamicType::default())
    }

    /// Like [`Controller::new`], for kinds known only at run time.
    ///
    /// ```
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, watcher};
    /// # use {futures::StreamExt, k8s_openapi::api::core::v1::ConfigMap};
    ///
    /// fn of_any_kind(client: Client, kind: ApiResource) -> Controller<DynamicObject> {
    ///     Controller::new_with(Api::all_with(client, &kind), watcher::Config::default(), kind)
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// #     let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// #     let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
    /// #     Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
    /// #     let nothing = async |_, _| Ok::<_, std::convert::Infallible>(kube_runtime::controller::Action::await_change());
    /// #     let policy = |_, _: &_, _| kube_runtime::controller::Action::await_change();
    /// #     let output = of_any_kind(client, ApiResource::erase::<ConfigMap>(&())).run(nothing, policy, std::sync::Arc::new(()));
    /// #     assert!(Box::pin(output).next().await.is_some_and(|item| item.is_ok()));
    /// #     Ok(())
    /// # }
    /// ```
    pub fn new_with(main_api: Api<K>, wc: watcher::Config, dyntype: K::DynamicType) -> Self {
        let mut writer = Writer::new(dyntype.clone());
        let reader = writer.as_reader();
        let (shown, kind) = (reader.clone(), dyntype.clone());
        let main = Box::new(move |pacing: &Pacing| {
            let events = collection_events(main_api, wc, pacing.retry());
            let asked = events.flat_map(move |item| {
                let told = item
                    .map(|event| writer.take_in_collection(event))
                    .map_or_else(|error| Some(Err(error)), told);
                let asked = told.and_then(|item| item.map(|event| asked_of(event, &shown)).transpose());
                let panics =
                    writer.take_index_panics().into_iter().map(|panic| Ok(index_panicked(panic, &kind)));
                stream::iter(panics.collect::<Vec<_>>().into_iter().chain(asked))
            });
            asked.boxed()
        });
        Self::with(main, reader, dyntype)
    }

    /// A controller for the objects of a stream of one's own, such as a filtered watcher behind a
    /// [`reflector`](fn@crate::reflector) whose store is `reader`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, WatchStreamExt, predicates, reflector, watcher};
    ///
    /// fn on_labels(client: Client) -> Controller<ConfigMap> {
    ///     let (store, writer) = reflector::store();
    ///     let changes = watcher(Api::all(client), watcher::Config::default())
    ///         .default_backoff()
    ///         .reflect(writer)
    ///         .applied_objects()
    ///         .predicate_filter(predicates::labels, Default::default());
    ///     Controller::for_stream(changes, store)
    /// }
    /// ```
    pub fn for_stream(
        trigger: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        reader: Store<K>,
    ) -> Self
    where
        K::DynamicType: Default,
    {
        Self::for_stream_with(trigger, reader, K::DynamicType::default())
    }

    /// Like [`Controller::for_stream`], for kinds known only at run time.
    ///
    /// ```
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, WatchStreamExt, predicates, reflector, watcher};
    /// # use {futures::StreamExt, k8s_openapi::api::core::v1::ConfigMap};
    ///
    /// /// Reconciles when the generation changes, whatever the kind.
    /// fn on_generations(client: Client, kind: ApiResource) -> Controller<DynamicObject> {
    ///     let writer = reflector::store::Writer::<DynamicObject>::new(kind.clone());
    ///     let store = writer.as_reader();
    ///     let objects = Api::all_with(client, &kind);
    ///     let cached = watcher(objects, watcher::Config::default()).reflect(writer);
    ///     let applied = cached.default_backoff().applied_objects();
    ///     let changes = applied.predicate_filter(predicates::generation, Default::default());
    ///     Controller::for_stream_with(changes, store, kind)
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// #     let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// #     let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
    /// #     Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
    /// #     let nothing = async |_, _| Ok::<_, std::convert::Infallible>(kube_runtime::controller::Action::await_change());
    /// #     let policy = |_, _: &_, _| kube_runtime::controller::Action::await_change();
    /// #     let output = on_generations(client, ApiResource::erase::<ConfigMap>(&())).run(nothing, policy, std::sync::Arc::new(()));
    /// #     assert!(Box::pin(output).next().await.is_some_and(|item| item.is_ok()));
    /// #     Ok(())
    /// # }
    /// ```
    pub fn for_stream_with(
        trigger: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        reader: Store<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        Self::with(paced(trigger_self(trigger, dyntype.clone()).map_ok(Asked::from)), reader, dyntype)
    }

    /// A controller for the objects of a [subscription](crate::reflector::store::Writer::subscribe), which other
    /// controllers may share. The stream behind the shared store has to be polled elsewhere.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, WatchStreamExt, reflector, watcher};
    /// use futures::Stream;
    ///
    /// /// Two controllers, and the watch that both depend on.
    /// fn pair(client: Client) -> Option<([Controller<ConfigMap>; 2], impl Stream)> {
    ///     let (store, writer) = reflector::store_shared(256);
    ///     let controllers = [
    ///         Controller::for_shared_stream(store.subscribe()?, store.clone()),
    ///         Controller::for_shared_stream(store.subscribe()?, store.clone()),
    ///     ];
    ///     let watch = watcher(Api::all(client), watcher::Config::default()).default_backoff();
    ///     Some((controllers, watch.reflect_shared(writer)))
    /// }
    /// ```
    pub fn for_shared_stream(trigger: impl Stream<Item = Arc<K>> + Send + 'static, reader: Store<K>) -> Self
    where
        K::DynamicType: Default,
    {
        Self::for_shared_stream_with(trigger, reader, K::DynamicType::default())
    }

    /// Like [`Controller::for_shared_stream`], for kinds known only at run time.
    ///
    /// ```
    /// use futures::{Stream, StreamExt};
    /// use kube_client::{Api, Client};
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::{Controller, WatchStreamExt, reflector::store::Writer, watcher};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// /// A controller, and the watch that it may share with others.
    /// fn sharing(client: Client, kind: ApiResource) -> Option<(Controller<DynamicObject>, impl Stream)> {
    ///     let writer = Writer::<DynamicObject>::new_shared(256, kind.clone());
    ///     let controller = Controller::for_shared_stream_with(writer.subscribe()?, writer.as_reader(), kind.clone());
    ///     let watch = watcher(Api::all_with(client, &kind), watcher::Config::default()).default_backoff();
    ///     Some((controller, watch.reflect_shared(writer)))
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// #     let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// #     let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
    /// #     Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
    /// #     let (controller, watch) = sharing(client, ApiResource::erase::<ConfigMap>(&())).ok_or("no subscription")?;
    /// #     tokio::spawn(Box::pin(watch).for_each(|_| async {}));
    /// #     let nothing = async |_, _| Ok::<_, std::convert::Infallible>(kube_runtime::controller::Action::await_change());
    /// #     let policy = |_, _: &_, _| kube_runtime::controller::Action::await_change();
    /// #     let output = controller.run(nothing, policy, std::sync::Arc::new(()));
    /// #     assert!(Box::pin(output).next().await.is_some_and(|item| item.is_ok()));
    /// #     Ok(())
    /// # }
    /// ```
    pub fn for_shared_stream_with(
        trigger: impl Stream<Item = Arc<K>> + Send + 'static,
        reader: Store<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        let objects = present(trigger, reader.clone(), dyntype.clone());
        let changes = trigger_self(objects.map(Ok), dyntype.clone()).map_ok(Asked::from);
        Self::with(paced(changes), reader, dyntype)
    }

    pub(super) fn with(main: TriggerFactory<K>, reader: Store<K>, dyntype: K::DynamicType) -> Self {
        Self {
            sources: Sources::new(main),
            dyntype,
            reader,
            config: Config::default(),
            shutdown: Shutdown::default(),
        }
    }

    /// Sets debounce and concurrency.
    #[must_use]
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets how long a watch that fails is left alone. Default: a
    /// [`DefaultBackoff`](watcher::DefaultBackoff) for each watch.
    ///
    /// The watches of the controller share `backoff`, but only the one that fails waits: at least as long as `backoff` says. Where
    /// `backoff` ends, its last wait repeats. It starts over when a watch that has failed works again; the waits of others
    /// that still fail begin anew with it.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    ///
    /// fn patient(client: Client) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .trigger_backoff(watcher::DefaultBackoff::default())
    /// }
    /// ```
    #[must_use]
    pub fn trigger_backoff(mut self, backoff: impl Backoff + 'static) -> Self {
        self.sources.pace(backoff);
        self
    }

    /// The controller's cache of its objects. It fills as the controller runs.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    ///
    /// fn count_while_it_runs(client: Client) {
    ///     let controller = Controller::<ConfigMap>::new(Api::all(client), watcher::Config::default());
    ///     let store = controller.store();
    ///     let _count = move || store.len(); // for a metric, say
    /// }
    /// ```
    pub fn store(&self) -> Store<K> {
        self.reader.clone()
    }

    /// Declares an index of the controller's [`store`](Self::store), for [`Store::by_index`].
    #[must_use]
    pub fn with_index<T>(self, index: &Index<K, T>) -> Self
    where
        T: Eq + Hash + Send + Sync + 'static,
    {
        self.reader.add_index(index);
        self
    }

    /// Also reconciles the objects that `trigger` names.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, reflector::ObjectRef, watcher};
    /// use futures::channel::mpsc::{self, UnboundedSender};
    ///
    /// fn on_demand(client: Client) -> (Controller<ConfigMap>, UnboundedSender<ObjectRef<ConfigMap>>) {
    ///     let (ask, asked) = mpsc::unbounded();
    ///     (Controller::new(Api::all(client), watcher::Config::default()).reconcile_on(asked), ask)
    /// }
    /// ```
    #[must_use]
    pub fn reconcile_on(mut self, trigger: impl Stream<Item = ObjectRef<K>> + Send + 'static) -> Self {
        self.sources.add(trigger.map(|obj_ref| Ok(ReconcileRequest::from(obj_ref).into())));
        self
    }

    /// Also reconciles every object there is, each time that `trigger` has an item. O(number of objects) each time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    /// use futures::channel::mpsc::{self, UnboundedSender};
    ///
    /// /// Whoever reloads the configuration sends `()`.
    /// fn reloading(client: Client) -> (Controller<ConfigMap>, UnboundedSender<()>) {
    ///     let (reloaded, reloads) = mpsc::unbounded();
    ///     (Controller::new(Api::all(client), watcher::Config::default()).reconcile_all_on(reloads), reloaded)
    /// }
    /// ```
    #[must_use]
    pub fn reconcile_all_on(mut self, trigger: impl Stream<Item = ()> + Send + 'static) -> Self {
        self.sources.add(trigger.map(|()| Ok(Asked::All)));
        self
    }

    /// Stops when `trigger` is done: nothing new is started, reconciles that run are waited for, then the output ends.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    /// use futures::channel::oneshot;
    ///
    /// fn stoppable(client: Client) -> (Controller<ConfigMap>, oneshot::Sender<()>) {
    ///     let (stop, stopped) = oneshot::channel();
    ///     let controller = Controller::new(Api::all(client), watcher::Config::default());
    ///     (controller.graceful_shutdown_on(async { stopped.await.unwrap_or_default() }), stop)
    /// }
    /// ```
    #[must_use]
    pub fn graceful_shutdown_on(mut self, trigger: impl Future<Output = ()> + Send + Sync + 'static) -> Self {
        self.shutdown = self.shutdown.or_on(trigger);
        self
    }

    /// Stops on SIGINT or SIGTERM, as [`graceful_shutdown_on`](Self::graceful_shutdown_on) does. A second signal ends
    /// the output at once; reconciles that run are aborted when it is dropped.
    ///
    /// From the first poll of the output on, these signals no longer end the process by themselves.
    #[must_use]
    pub fn shutdown_on_signal(mut self) -> Self {
        self.shutdown = self.shutdown.or_on_signal();
        self
    }
}

/// What changes of a controller's own objects in several namespaces ask for. `shown` is the store that has taken them in.
pub(super) fn asked_by<K>(
    news: impl Stream<Item = watcher::Result<PartsNews<K>>> + Send + 'static,
    shown: Store<K>,
) -> impl Stream<Item = watcher::Result<Asked<K>>> + Send + 'static
where
    K: Clone + Resource + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    news.try_filter_map(move |news| {
        ready(Ok(match news {
            PartsNews::Event(event) => asked_of(event, &shown),
            PartsNews::IndexPanic(panic) => Some(index_panicked(panic, shown.dyntype())),
        }))
    })
}

fn asked_of<K>(event: Event<Arc<K>>, shown: &Store<K>) -> Option<Asked<K>>
where
    K: Clone + Resource + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let urgency = urgency_of(&event);
    let object = event.into_applied()?;
    // Of a list after the first, what the store does not show yet is news; the rest can wait.
    let news = shown.is_ready() && !shown.shows(&object);
    let urgency = if news { Urgency::Change } else { urgency };
    Some(Asked::One { request: itself(&*object, shown.dyntype().clone()), urgency })
}

fn index_panicked<K: Resource>((key, message): IndexPanic, dyntype: &K::DynamicType) -> Asked<K>
where
    K::DynamicType: Clone,
{
    let object = Box::new(key.to_ref::<K>(dyntype.clone()).erase());
    Asked::CallbackPanicked(CallbackPanic { callback: "index", object, message })
}

/// What an event of the controller's own objects tells, once the store has taken it in.
fn told<T>(event: CollectionEvent<T>) -> Option<watcher::Result<Event<T>>> {
    match event {
        CollectionEvent::Init => Some(Ok(Event::Init)),
        CollectionEvent::InitApply(object) => Some(Ok(Event::InitApply(object))),
        CollectionEvent::Synced { .. } => Some(Ok(Event::InitDone)),
        CollectionEvent::Apply(object) => Some(Ok(Event::Apply(object))),
        CollectionEvent::Delete(object) => Some(Ok(Event::Delete(object))),
        CollectionEvent::Progress { .. } => None,
        CollectionEvent::Undecodable(object) => Some(Err(object.into())),
    }
}
