//! The [`Controller`]: how sources are added to it, and its other settings.

use super::{
    assignment::Assignments,
    config::Config,
    observe::{ControllerName, Limits, Monitor, Observation, Observer, Told},
    scope::{Coverage, Marks, ReadStore},
    shutdown::Shutdown,
    source::{Apis, Mapped, OwnPredicate, OwnSource, RelatedSource, Sources, mapped_by, owners_in},
    workers::WorkerLane,
};
use crate::{
    backoff::Backoff,
    metrics,
    reflector::{Index, ObjectRef, store::Store},
    watcher,
};
use futures::future::BoxFuture;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{
    borrow::Borrow,
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
    pub(super) own: OwnSource<K>,
    /// All other sources.
    pub(super) sources: Sources,
    pub(super) config: Config,
    pub(super) shutdown: Shutdown,
    pub(super) assignments: Option<Assignments>,
    /// Of those that it shares with other controllers.
    pub(super) workers: Option<WorkerLane>,
    /// What no reconcile starts before.
    pub(super) gates: Vec<BoxFuture<'static, ()>>,
    /// Set once there is a monitor.
    pub(super) observation: OnceLock<Arc<Observation>>,
}

impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// A controller of these objects, with the default configuration.
    pub(super) fn of(own: OwnSource<K>) -> Self {
        Self {
            own,
            sources: Sources::new(),
            config: Config::default(),
            shutdown: Shutdown::default(),
            assignments: None,
            workers: None,
            gates: Vec::new(),
            observation: OnceLock::new(),
        }
    }

    /// Watches that the controller makes of its own objects.
    pub(super) fn watching(
        apis: impl Into<Apis<K>>,
        config: watcher::Config,
        dyntype: K::DynamicType,
    ) -> Self {
        Self::of(OwnSource::configured(apis.into(), config, dyntype))
    }

    /// A change of an object reconciles its owners.
    pub(super) fn owning<T, O>(self, source: RelatedSource<T, O>) -> Self
    where
        T: Borrow<O> + 'static,
        O: Resource<DynamicType: Clone> + 'static,
    {
        let owners = owners_in::<K, O>(self.own.dyntype.clone());
        self.related(source, move |object: T| owners(object.borrow()))
    }

    /// A change of an object reconciles what `mapper` returns for it.
    pub(super) fn depending<T, O, I>(
        self,
        source: RelatedSource<T, O>,
        mapper: impl Fn(T) -> I + Send + 'static,
    ) -> Self
    where
        T: Borrow<O> + 'static,
        O: Resource<DynamicType: Clone> + 'static,
        I: IntoIterator<Item = ObjectRef<K>> + 'static,
    {
        self.related(source, move |object| mapped_by(|| mapper(object)))
    }

    fn related<T, O>(
        mut self,
        source: RelatedSource<T, O>,
        mapper: impl Fn(T) -> Mapped + Send + 'static,
    ) -> Self
    where
        T: Borrow<O> + 'static,
        O: Resource<DynamicType: Clone> + 'static,
    {
        source.add_to(&mut self.sources, mapper);
        self
    }

    pub(super) fn filtered(self, predicate: OwnPredicate<K>) -> Self {
        Self { own: self.own.filtered(predicate), ..self }
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

    /// Waits for own writes, unless its configuration [says otherwise](Config::wait_for_own_writes). The manager of `kube-operator` does
    /// this with its controllers.
    #[must_use]
    pub fn wait_for_own_writes_by_default(mut self) -> Self {
        self.config.waits_for_own_writes_by_default();
        self
    }

    /// Reconciles read this store, which is filled elsewhere: one that shows what they write, where the controller
    /// [waits for that](Config::wait_for_own_writes).
    ///
    /// Stores of own and related objects, and those of a manager, need no call. Which objects the store selects is known if a
    /// [`Writer`](crate::reflector::store::Writer::watch) fills it by its own watch. For a store that a stream of the program fills, all of
    /// its kind are taken to be selected, so that a write to another lasts for [`write_wait`](Config::write_wait).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Config, Controller, reflector::Store, watcher};
    ///
    /// fn with_secrets(client: Client, secrets: &Store<Secret>) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .with_config(Config::default().wait_for_own_writes(true))
    ///         .reads(secrets)
    /// }
    /// ```
    #[must_use]
    pub fn reads(mut self, store: impl Into<ReadStore>) -> Self {
        self.sources.coverage.push(store.into().0);
        self
    }

    /// What makes the marks of its reconciles. `None` if nobody asks what they write.
    pub(super) fn marks(&self) -> Option<Marks> {
        Marks::of(&self.config, &self.name())
    }

    /// The stores and watches that show what reconciles write, if it waits for them.
    pub(super) fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::default();
        if self.config.waits_for_own_writes() {
            coverage.push(self.own.covered());
            coverage.extend(self.sources.coverage.clone());
        }
        coverage
    }

    /// Sets the backoff of failing watches. Default: a [`DefaultBackoff`](crate::watcher::DefaultBackoff) for each watch.
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

    /// Reads the objects that exist, at the start and after outages, by watches that first send them (streaming lists), where the server
    /// can do that: Kubernetes 1.32 and newer, and by default since 1.34. Lists cost such a server memory for the whole of a list, and may
    /// be throttled for it.
    ///
    /// For all watches that the controller makes, whatever their [`InitialListStrategy`](watcher::InitialListStrategy) says. Unlike with
    /// [`streaming_lists`](watcher::Config::streaming_lists), a server that refuses one, or that does not know the parameter, is no error:
    /// all watches of this kind by this client list page by page from then on. The permissions `list` and `watch` are needed in any case.
    ///
    /// A manager does this for its controllers and caches. Here it is off by default, as in kube 5.0.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    ///
    /// fn controller(client: Client) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(client), watcher::Config::default()).prefer_streaming_lists()
    /// }
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/first_reconcile.rs"));
    /// # fn main() { first_reconcile(controller); }
    /// ```
    #[must_use]
    pub fn prefer_streaming_lists(mut self) -> Self {
        self.sources.listing(watcher::ListChoice::StreamedIfSupported);
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
        self.own.store.clone()
    }

    /// Shows what the controller does, before, while and after it runs: for health checks, a debug page, or tests.
    ///
    /// See [`Monitor`] for an example.
    pub fn monitor(&self) -> Monitor {
        Monitor::new(Arc::clone(self.observation()))
    }

    /// The API paths of the collections that the controller lists and watches, its own objects first: `/api/v1/namespaces/default/pods`.
    /// Streams of the program are not known.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, watcher};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// let controller = Controller::<ConfigMap>::new(Api::all(client.clone()), watcher::Config::default())
    ///     .owns(Api::<Secret>::namespaced(client, "shop"), watcher::Config::default());
    /// assert_eq!(controller.watched_paths(), ["/api/v1/configmaps", "/api/v1/namespaces/shop/secrets"]);
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn watched_paths(&self) -> Vec<String> {
        self.own.paths.iter().chain(self.sources.paths()).cloned().collect()
    }

    fn observation(&self) -> &Arc<Observation> {
        self.observation.get_or_init(|| Arc::new(Observation::new(&self.name(), self.own.store.clone())))
    }

    fn name(&self) -> String {
        let kind = || K::kind(&self.own.dyntype).to_lowercase();
        self.config.name.clone().unwrap_or_else(kind)
    }

    /// The observer of the controller that starts to run.
    pub(super) fn observer(&self) -> Observer {
        let told =
            self.config.observer().map(|observer| Told::of::<K>(observer.0, &self.name(), &self.own.dyntype));
        if !metrics::ENABLED && self.observation.get().is_none() && told.is_none() {
            return Observer::default();
        }
        let (name, max_concurrent) = (self.name(), self.config.concurrency);
        let (name, of_all) = match &self.workers {
            None => (ControllerName::alone(&name), max_concurrent),
            Some(lane) => (lane.controller_name(&name), lane.limit_of_all()),
        };
        Observer::start(Arc::clone(self.observation()), name, Limits { max_concurrent, of_all }).telling(told)
    }

    /// Declares an index of the controller's [`store`](Self::store), for [`Store::by_index`].
    #[must_use]
    pub fn with_index<T>(self, index: &Index<K, T>) -> Self
    where
        T: Eq + Hash + Send + Sync + 'static,
    {
        self.own.store.add_index(index);
        self
    }

    /// Reconciles only the objects that `assignments` assigns to this replica, and all of those whenever they become assigned.
    ///
    /// The watches and the store do not depend on it, so that a replica to which an object is assigned needs no new list. For leader
    /// election and sharding; see `kube_operator::leader_election::LeaderElector::assignments`.
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

    /// Starts reconciles only as workers of this lane are free, besides the limits of its own [`Config`]. For controllers that share
    /// [`Workers`](super::Workers), such as one for each of many clusters.
    ///
    /// Those of one [name](Config::name) that share workers are one in logs and [metrics](crate::metrics). The output has to be polled
    /// while it runs: until then, what has ended keeps its worker.
    #[must_use]
    pub fn share_workers(mut self, lane: WorkerLane) -> Self {
        self.workers = Some(lane);
        self
    }

    /// Starts no reconcile before `ready` completes, besides the lists that it waits for anyway. For what the reconciler needs, such as a
    /// cache of other objects. The watches run meanwhile. Several calls wait for all.
    ///
    /// While it waits, `waiting_for` is part of what the controller logs and may [fail](Config::fail_without_initial_sync) with after the
    /// [timeout of its initial sync](Config::initial_sync_timeout).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, reflector::Store, watcher};
    ///
    /// fn after_the_secrets(client: Client, secrets: Store<Secret>) -> Controller<ConfigMap> {
    ///     let filled = async move { secrets.wait_until_ready().await.unwrap_or_default() };
    ///     Controller::new(Api::all(client), watcher::Config::default())
    ///         .reconcile_after(|| "the cache of secrets".to_owned(), filled)
    /// }
    /// ```
    #[must_use]
    pub fn reconcile_after(
        mut self,
        waiting_for: impl Fn() -> String + Send + Sync + 'static,
        ready: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        self.gates.push(self.sources.initial_sync().gate(waiting_for, ready));
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
