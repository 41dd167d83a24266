//! The [`Controller`] builder: sources of a controller's own objects, triggers, and shutdown.

use super::{
    assignment::Assignments,
    config::Config,
    guard::CallbackPanic,
    observe::{Monitor, Observation, Observer},
    own_filter::OwnFilter,
    request::{ReconcileRequest, Trigger},
    shutdown::Shutdown,
    source::{MainFactory, Sources, custom_main, still_present},
};
use crate::{
    backoff::Backoff,
    measure,
    reflector::{
        Index, ObjectRef, StoreChange,
        store::{IndexPanic, Store, Writer},
    },
    watcher::{self, CollectionEvent, cached_collection_events},
};
use futures::{Stream, StreamExt, stream};
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{
    fmt::Debug,
    future::Future,
    hash::Hash,
    sync::{Arc, OnceLock},
};

/// Calls a reconciler for each object of a kind, at the start and after each change.
///
/// # Guarantees
///
/// - After every change of an object, and of an object that it [owns](Self::owns) or [depends on](Self::watches), the
///   reconciler is called at least once. Changes in quick succession may be merged into one call.
/// - One object is never reconciled twice at the same time. Different objects are reconciled concurrently, up to
///   [`Config::concurrency`].
/// - No reconcile starts before the initial list of objects is complete. After that, the first reconciles wait up to five
///   seconds for the initial lists of related objects. No reconcile starts after a
///   [shutdown](Self::graceful_shutdown_on).
/// - Changes have priority over objects from the initial list, relists and requeues. Every eighth start is one of those, so
///   that they do not starve. Within a priority, objects are reconciled in the order in which they became due.
/// - A reconciler that panics or exceeds the [timeout](Config::timeout), or a mapper that panics, is one error in the
///   output and does not affect other objects.
///
/// # Errors
///
/// Errors are items of the output stream. Only a store that can never become ready ends it. Failed watches are retried
/// automatically.
///
/// # Example
///
/// ```
/// # use kube_client::{Api, Client};
/// use futures::StreamExt;
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// use kube_runtime::{controller::Action, Controller, watcher};
/// use std::{convert::Infallible, sync::Arc, time::Duration};
///
/// async fn reconcile(object: Arc<Deployment>, _context: Arc<()>) -> Result<Action, Infallible> {
///     println!("{:?}", object.metadata.name);
///     Ok(Action::requeue(Duration::from_secs(300)))
/// }
///
/// fn error_policy(_object: Arc<Deployment>, _error: &Infallible, _context: Arc<()>) -> Action {
///     Action::requeue(Duration::from_secs(5))
/// }
///
/// async fn run(client: Client) {
///     Controller::new(Api::<Deployment>::all(client.clone()), watcher::Config::default())
///         .owns(Api::<ConfigMap>::all(client), watcher::Config::default())
///         .shutdown_on_signal()
///         .run(reconcile, error_policy, Arc::new(()))
///         .for_each(|result| async move { println!("{result:?}") })
///         .await;
/// }
/// ```
pub struct Controller<K>
where
    K: Clone + Resource + Debug + 'static,
    K::DynamicType: Eq + Hash,
{
    pub(super) sources: Sources<K>,
    pub(super) own_filter: OwnFilter<K>,
    pub(super) dyntype: K::DynamicType,
    pub(super) reader: Store<K>,
    pub(super) config: Config,
    pub(super) shutdown: Shutdown,
    pub(super) assignments: Option<Assignments>,
    /// Set once there is a monitor.
    pub(super) observation: OnceLock<Arc<Observation>>,
}

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
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// fn of_any_kind(client: Client, kind: ApiResource) -> Controller<DynamicObject> {
    ///     Controller::new_with(Api::all_with(client, &kind), watcher::Config::default(), kind)
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| of_any_kind(client, ApiResource::erase::<ConfigMap>(&()))); }
    /// ```
    pub fn new_with(main_api: Api<K>, wc: watcher::Config, dyntype: K::DynamicType) -> Self {
        #[cfg(feature = "compact-cache")]
        if wc.compact_cache {
            return Self::compact(main_api, wc, dyntype);
        }
        let mut writer = Writer::new(dyntype.clone());
        let reader = writer.as_reader();
        let (store, kind) = (reader.clone(), dyntype.clone());
        let main: MainFactory<K> = Box::new(move |settings, mut filter| {
            let known = writer.known_objects();
            let watch = |api, settings| cached_collection_events(api, wc, settings, known);
            let events = settings.watch(main_api, &K::kind(&kind), watch);
            let triggers = events.flat_map(move |item| {
                let event = item
                    .map(|event| writer.apply_collection_event(event))
                    .map_or_else(|error| Some(Err(error)), CollectionEvent::into_public);
                let (event, error) = match event.transpose() {
                    Ok(event) => (event, None),
                    Err(error) => (None, Some(Err(error))),
                };
                let triggers = event.map(|event| filter.triggers_of_event(event, &store));
                let panics = writer.take_index_panics().into_iter().map(|panic| index_panicked(panic, &kind));
                let triggers = panics.collect::<Vec<_>>().into_iter().chain(triggers.into_iter().flatten());
                stream::iter(triggers.map(Ok).chain(error))
            });
            triggers.boxed()
        });
        Self::with(main, reader, dyntype)
    }

    /// A controller for the objects of a custom stream, such as a filtered watcher behind a
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
    /// # use k8s_openapi::api::core::v1::ConfigMap;
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
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| on_generations(client, ApiResource::erase::<ConfigMap>(&()))); }
    /// ```
    pub fn for_stream_with(
        trigger: impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
        reader: Store<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        Self::with(custom_main(trigger, reader.clone()), reader, dyntype)
    }

    /// A controller for the objects of a [subscription](crate::reflector::store::Writer::subscribe) to a shared store, which
    /// other controllers may subscribe to as well. The stream that fills the store has to be polled elsewhere.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, WatchStreamExt, reflector, watcher};
    /// use futures::Stream;
    ///
    /// /// Two controllers, and the watch that both share.
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
    /// use futures::Stream;
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
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(|client| poll_in_task(sharing(client, ApiResource::erase::<ConfigMap>(&())))); }
    /// ```
    pub fn for_shared_stream_with(
        trigger: impl Stream<Item = Arc<K>> + Send + 'static,
        reader: Store<K>,
        dyntype: K::DynamicType,
    ) -> Self {
        let objects = still_present(trigger, reader.clone(), dyntype.clone());
        Self::with(custom_main(objects.map(Ok), reader.clone()), reader, dyntype)
    }

    pub(super) fn with(main: MainFactory<K>, reader: Store<K>, dyntype: K::DynamicType) -> Self {
        Self {
            sources: Sources::new(main),
            own_filter: OwnFilter::default(),
            dyntype,
            reader,
            config: Config::default(),
            shutdown: Shutdown::default(),
            assignments: None,
            observation: OnceLock::new(),
        }
    }

    /// Sets debounce, concurrency, retries and timeouts.
    #[must_use]
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Sets the name of the controller: see [`Config::name`]. Call it after [`with_config`](Self::with_config).
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.config = self.config.name(name);
        self
    }

    /// Sets the backoff of failing watches. Default: a [`DefaultBackoff`](watcher::DefaultBackoff) for each watch.
    ///
    /// All watches of the controller share `backoff`, but only a failing watch waits, for at least the delay of `backoff`.
    /// After `backoff` has ended, its last delay repeats. It is reset when a failed watch works again, also for watches that
    /// still fail.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    ///
    /// fn with_backoff(client: Client) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .trigger_backoff(watcher::DefaultBackoff::default())
    /// }
    /// ```
    #[must_use]
    pub fn trigger_backoff(mut self, backoff: impl Backoff + 'static) -> Self {
        self.sources.share_backoff(backoff);
        self
    }

    /// The controller's cache of its objects. It is filled while the controller runs.
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

    /// Shows what the controller does, before, while and after it runs: for health checks, a debug page, or tests.
    ///
    /// See [`Monitor`] for an example.
    pub fn monitor(&self) -> Monitor {
        Monitor::new(Arc::clone(self.observation()))
    }

    fn observation(&self) -> &Arc<Observation> {
        self.observation.get_or_init(|| Arc::new(Observation::new(&self.name(), self.reader.clone())))
    }

    fn name(&self) -> String {
        let kind = || K::kind(&self.dyntype).to_lowercase();
        self.config.name.clone().unwrap_or_else(kind)
    }

    /// The observer of the controller that starts to run.
    pub(super) fn observer(&self) -> Observer {
        if !measure::ENABLED && self.observation.get().is_none() {
            return Observer::default();
        }
        Observer::start(Arc::clone(self.observation()), &self.name(), self.config.concurrency)
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

    /// Also reconciles the objects from `trigger`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, reflector::ObjectRef, watcher};
    /// use futures::channel::mpsc::{self, UnboundedSender};
    ///
    /// fn on_demand(client: Client) -> (Controller<ConfigMap>, UnboundedSender<ObjectRef<ConfigMap>>) {
    ///     let (sender, requests) = mpsc::unbounded();
    ///     (Controller::new(Api::all(client), watcher::Config::default()).reconcile_on(requests), sender)
    /// }
    /// ```
    #[must_use]
    pub fn reconcile_on(mut self, trigger: impl Stream<Item = ObjectRef<K>> + Send + 'static) -> Self {
        self.sources.add(trigger.map(|obj_ref| Ok(ReconcileRequest::from(obj_ref).into())));
        self
    }

    /// Also reconciles all objects for each item of `trigger`. O(number of objects) each time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    /// use futures::channel::mpsc::{self, UnboundedSender};
    ///
    /// /// Send `()` after the configuration was reloaded.
    /// fn reloading(client: Client) -> (Controller<ConfigMap>, UnboundedSender<()>) {
    ///     let (reloaded, reloads) = mpsc::unbounded();
    ///     (Controller::new(Api::all(client), watcher::Config::default()).reconcile_all_on(reloads), reloaded)
    /// }
    /// ```
    #[must_use]
    pub fn reconcile_all_on(mut self, trigger: impl Stream<Item = ()> + Send + 'static) -> Self {
        self.sources.add(trigger.map(|()| Ok(Trigger::All)));
        self
    }

    /// Reconciles only the objects that `assignments` assigns to this replica, and all of those whenever they become assigned.
    ///
    /// The watches and the store do not depend on it, so that a replica to which an object is assigned needs no new list. For leader election
    /// and sharding; see `kube_operator::leader_election::LeaderElector::assignments`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, controller::Assigner, watcher};
    ///
    /// /// Reconciles nothing until the assigner assigns something.
    /// fn standby(client: Client) -> (Controller<ConfigMap>, Assigner) {
    ///     let assigner = Assigner::new();
    ///     let controller = Controller::new(Api::all(client), watcher::Config::default());
    ///     (controller.assigned_by(assigner.assignments()), assigner)
    /// }
    /// ```
    #[must_use]
    pub fn assigned_by(mut self, assignments: Assignments) -> Self {
        self.assignments = Some(assignments);
        self
    }

    /// Stops when `trigger` completes: no reconcile starts any more, and the output ends after the running ones.
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
    /// the output at once; running reconciles are aborted when the output is dropped.
    ///
    /// From the first poll of the output on, these signals no longer terminate the process by default.
    #[must_use]
    pub fn shutdown_on_signal(mut self) -> Self {
        self.shutdown = self.shutdown.or_on_signal();
        self
    }
}

/// The triggers of a controller's own objects in several namespaces. `store` has applied the events already.
pub(super) fn namespace_triggers<K>(
    items: impl Stream<Item = watcher::ErasedResult<StoreChange<K>>> + Send + 'static,
    store: Store<K>,
    mut filter: OwnFilter<K>,
) -> impl Stream<Item = watcher::ErasedResult<Trigger<K>>> + Send + 'static
where
    K: Clone + Resource + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    items.flat_map(move |item| {
        let triggers: Vec<_> = match item {
            Ok(StoreChange::Event(event)) => filter.triggers_of_event(event, &store).map(Ok).collect(),
            Ok(StoreChange::IndexPanic(panic)) => vec![Ok(index_panicked(panic, store.dyntype()))],
            Err(error) => vec![Err(error)],
        };
        stream::iter(triggers)
    })
}

pub(super) fn index_panicked<K: Resource>((key, message): IndexPanic, dyntype: &K::DynamicType) -> Trigger<K>
where
    K::DynamicType: Clone,
{
    let object = Box::new(key.into_ref::<K>(dyntype.clone()).erase());
    Trigger::CallbackPanicked(CallbackPanic { callback: "index", object, message })
}
