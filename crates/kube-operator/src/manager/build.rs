//! [`Manager`]: what it is to run, collected before it runs.

use super::{
    addresses::Addresses,
    cache::{Cached, Caches},
    components::{Component, Restart},
    controllers::{Managed, ManagedController},
    error::BoxError,
    handle::{Command, ManagerHandle},
    members::Members,
    permissions::{NeededRequests, Refusals},
    replicas::{Hook, Replicas},
    serve::{PageAt, Webhook},
    served::{KINDS_CHECK, ServedController, ServedVersions, WhileServed},
    status::Status,
    writes::Writes,
};
use crate::{
    health::{Check, Health, Probe},
    leader_election, sharding,
    webhook::{Webhooks, certificates::CertificateSource},
};
use axum::Router;
use futures::{FutureExt, TryFuture};
use kube_client::{Api, Client};
use kube_core::Resource;
use kube_runtime::{
    Controller,
    controller::{Action, ProgressLimits, Reconcile},
    reflector::Store,
    served::ServedKinds,
    watcher,
};
use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Any number of controllers and other components under one start and stop order. See the [module](super).
#[must_use = "a manager does nothing until it is run"]
pub struct Manager {
    pub(super) client: Client,
    pub(super) replicas: Replicas,
    pub(super) before_leading: Vec<Hook>,
    pub(super) metrics: Option<SocketAddr>,
    pub(super) routes: Vec<Router>,
    pub(super) debug_page: PageAt,
    pub(super) version: Option<String>,
    pub(super) health: Health,
    pub(super) limits: ProgressLimits,
    pub(super) webhooks: Option<Webhook>,
    pub(super) components: Vec<(Arc<str>, Component, Restart)>,
    pub(super) leader_components: Vec<(Arc<str>, Component, Restart)>,
    pub(super) controllers: Vec<ManagedController>,
    pub(super) while_served: Vec<WhileServed>,
    pub(super) members: Members,
    /// `None` if no kind comes and goes.
    pub(super) kinds: Option<ServedKinds>,
    pub(super) grace_period: Duration,
    pub(super) status: Status,
    pub(super) addresses: watch::Sender<Addresses>,
    pub(super) commands: (mpsc::UnboundedSender<Command>, mpsc::UnboundedReceiver<Command>),
    pub(super) caches: Caches,
    /// What the program writes, each with its name.
    pub(super) writes: Vec<(String, NeededRequests)>,
    pub(super) refusals: Refusals,
}

impl Manager {
    /// Runs nothing yet.
    pub fn new(client: Client) -> Self {
        let health = Health::new();
        let (status, refusals) = (Status::new(&health), Refusals::new(client.default_namespace()));
        let caches = Caches::new(health.clone(), refusals.clone());
        Self {
            client,
            replicas: Replicas::Alone,
            before_leading: Vec::new(),
            metrics: None,
            routes: Vec::new(),
            debug_page: PageAt::Metrics,
            version: None,
            health,
            limits: ProgressLimits::default(),
            webhooks: None,
            components: Vec::new(),
            leader_components: Vec::new(),
            controllers: Vec::new(),
            while_served: Vec::new(),
            members: Members::default(),
            kinds: None,
            grace_period: Duration::from_secs(25),
            status,
            addresses: watch::Sender::default(),
            commands: mpsc::unbounded_channel(),
            caches,
            writes: Vec::new(),
            refusals,
        }
    }

    /// Reconciles only while this process holds the Lease `name` in `namespace`, with the default durations.
    pub fn leader_election(self, name: impl Into<String>, namespace: impl Into<String>) -> Self {
        self.leader_election_with(leader_election::Config::new(name, namespace))
    }

    /// Like [`leader_election`](Self::leader_election), with other durations or another identity. Replaces sharding.
    pub fn leader_election_with(mut self, config: leader_election::Config) -> Self {
        self.replicas = Replicas::Elected(config);
        self
    }

    /// Shares the objects among all replicas, instead of leader election. Leader-only components run in every replica.
    pub fn sharding(mut self, config: sharding::Config) -> Self {
        self.replicas = Replicas::Sharded(config);
        self
    }

    /// Calls `hook` after each election, before the first reconcile and before leader-only components start. It is dropped when the
    /// leadership ends meanwhile. Several hooks run one after another. Without leader election, hooks run at the start. A hook that panics
    /// ends the manager with [`ManagerError::Failed`](super::ManagerError::Failed).
    pub fn before_leading<F>(mut self, hook: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.before_leading.push(Arc::new(move || hook().boxed()));
        self
    }

    /// Serves `/metrics`, `/livez`, `/readyz`, `/healthz` and `/debug/controllers` over HTTP at this address. Port 0 takes a free one,
    /// which [`ManagerHandle::metrics_address`] returns.
    ///
    /// Ready: everything is started and does not stop, and the caches of all controllers and those of [`cache`](Self::cache) are in sync.
    /// Alive: every controller and cache makes progress, within [the limits](Self::progress_limits).
    pub fn serve_metrics(mut self, address: impl Into<SocketAddr>) -> Self {
        self.metrics = Some(address.into());
        self
    }

    /// Serves these routes beside the metrics; not without [`serve_metrics`](Self::serve_metrics). Routes of several calls are all served.
    /// Two routes for one path and method, or two fallbacks, are [`ManagerError::Routes`](super::ManagerError::Routes) at the start.
    pub fn routes(mut self, routes: Router) -> Self {
        self.routes.push(routes);
        self
    }

    /// Serves `/debug/controllers` over HTTP at this address and not beside the metrics: it names objects and their errors. Port 0 takes a
    /// free one, which [`ManagerHandle::debug_page_address`] returns. At `127.0.0.1`, `kubectl port-forward` reaches it and other pods do
    /// not.
    pub fn serve_debug_page(mut self, address: impl Into<SocketAddr>) -> Self {
        self.debug_page = PageAt::Own(address.into());
        self
    }

    /// Does not serve `/debug/controllers`.
    pub fn without_debug_page(mut self) -> Self {
        self.debug_page = PageAt::Nowhere;
        self
    }

    /// The version of the program, for the debug page. `env!("CARGO_PKG_VERSION")`, for example.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Controllers and caches list page by page, by LIST.
    ///
    /// Otherwise they read the objects that exist by [streaming lists](Controller::prefer_streaming_lists), where the server can do that.
    pub fn without_streaming_lists(self) -> Self {
        self.caches.list_by_pages();
        self
    }

    /// The health checks that are served: add further ones.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// What `/livez` tolerates of each controller and cache. Set it before the controllers are added.
    pub fn progress_limits(mut self, limits: ProgressLimits) -> Self {
        self.caches.set_limits(limits.clone());
        self.limits = limits;
        self
    }

    /// Serves webhooks over HTTPS at this address, in every replica. Port 0 takes a free one, which [`ManagerHandle::webhook_address`]
    /// returns. A second call replaces the first.
    pub fn webhooks(
        mut self,
        address: impl Into<SocketAddr>,
        certificates: impl CertificateSource,
        webhooks: Webhooks,
    ) -> Self {
        self.webhooks = Some(Webhook::new(address.into(), webhooks, certificates));
        self
    }

    /// Serves nothing, neither metrics nor webhooks nor the debug page, and asks for no certificate. For tests in simulated time, in which
    /// no one can connect. Call it last.
    pub fn without_servers(mut self) -> Self {
        self.metrics = None;
        self.routes.clear();
        self.webhooks = None;
        self.without_debug_page()
    }

    /// Runs a controller. A reconcile that fails is retried with backoff, as by [`Action::retry`].
    ///
    /// `name` is its name in metrics, health checks, the debug page and [`ManagerHandle::remove`].
    pub fn controller<K: Managed, Ctx, F>(
        mut self,
        name: &str,
        controller: Controller<K>,
        reconciler: impl FnMut(Arc<K>, Arc<Ctx>) -> F + Send + 'static,
        context: Arc<Ctx>,
    ) -> Self
    where
        Ctx: Send + Sync + 'static,
        F: TryFuture<Ok = Action> + Send + 'static,
        F::Error: std::error::Error + Send + Sync + 'static,
    {
        self.controllers.push(ManagedController::new(name, controller, reconciler, context));
        self
    }

    /// Like [`controller`](Self::controller), for a reconciler that is a type and decides on its failures.
    pub fn reconciler<K: Managed>(
        mut self,
        name: &str,
        controller: Controller<K>,
        reconciler: impl Reconcile<K>,
    ) -> Self {
        self.controllers.push(ManagedController::with_reconciler(name, controller, reconciler));
        self
    }

    /// Runs a controller while the cluster serves its kind, in the version of the type: it starts when the definition is installed, stops
    /// when that is deleted, with its running reconciles, and starts again when it returns, any number of times. The rest works meanwhile.
    ///
    /// `controller` is called at once, so that permissions are known, and again for each further start. While the kind is not served, the
    /// readiness check `served-kinds` succeeds and says since when and why, as does the debug page; the gauge `kube_runtime_kind_served` is
    /// 0. A definition of another scope or without this version is an error in the log, and the controller alone waits. For the watches of
    /// other kinds, see [`Related::if_served`](kube_runtime::controller::Related::if_served) with [`served_kinds`](Self::served_kinds); for
    /// requests and permissions [`ServedKinds`].
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kube_client::{Api, Client};
    /// use kube_operator::manager::{Manager, ServedController};
    /// use kube_runtime::{Controller, controller::Action, watcher::Config};
    /// use std::{convert::Infallible, sync::Arc};
    ///
    /// async fn reconcile(_map: Arc<ConfigMap>, _context: Arc<()>) -> Result<Action, Infallible> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// # fn manager(client: Client) -> Manager {
    /// Manager::new(client.clone()).while_served::<ConfigMap>("maps", move || {
    ///     let controller = Controller::new(Api::all(client.clone()), Config::default());
    ///     ServedController::new(controller, reconcile, Arc::new(()))
    /// })
    /// # }
    /// ```
    pub fn while_served<K: Managed + Resource<DynamicType: Default>>(
        self,
        name: &str,
        controller: impl FnMut() -> ServedController<K> + Send + 'static,
    ) -> Self {
        self.while_any_served(name, ServedVersions::of::<K>(controller))
    }

    /// Like [`while_served`](Self::while_served), for a kind of which the program knows several versions: the newest one that is served is
    /// used. When it changes, the controller is started again.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// # use kube_client::Client;
    /// use kube_operator::manager::{Manager, ServedController, ServedVersions};
    ///
    /// # type Page = ConfigMap;
    /// # type PageV1Beta1 = Secret;
    /// # type Make<K> = fn() -> ServedController<K>;
    /// # fn manager(client: Client, stable: Make<Page>, beta: Make<PageV1Beta1>) -> Manager {
    /// Manager::new(client).while_any_served("pages", ServedVersions::of::<Page>(stable).or::<PageV1Beta1>(beta))
    /// # }
    /// ```
    pub fn while_any_served(mut self, name: &str, versions: ServedVersions) -> Self {
        let kinds = self.served_kinds();
        self.while_served.push(WhileServed::new(name, versions, &kinds));
        self
    }

    /// Which kinds the cluster serves: for [`Related::if_served`](kube_runtime::controller::Related::if_served). The same each time, so
    /// that there is one watch of definitions. From the first call on, the manager needs and asks for the permissions of that.
    pub fn served_kinds(&mut self) -> ServedKinds {
        if let Some(kinds) = &self.kinds {
            return kinds.clone();
        }
        let kinds = ServedKinds::new(self.client.clone());
        let missing = kinds.clone();
        // It succeeds: otherwise one missing kind would take the webhooks of all others away.
        let check = Check::new(KINDS_CHECK, || Ok::<_, String>(())).note(move || missing_kinds(&missing));
        self.health.add(Probe::Ready, check);
        self.kinds = Some(kinds.clone());
        kinds
    }

    /// Runs something else in every replica. It has to end soon after the token is cancelled.
    pub fn component<F, E>(
        mut self,
        name: &str,
        restart: Restart,
        component: impl FnMut(CancellationToken) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.components.push((name.into(), Component::new(component), restart));
        self
    }

    /// Like [`component`](Self::component), while this process leads. It is started anew after each election, and aborted when another
    /// process can lead.
    pub fn leader_component<F, E>(
        mut self,
        name: &str,
        restart: Restart,
        component: impl FnMut(CancellationToken) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.leader_components.push((name.into(), Component::new(component), restart));
        self
    }

    /// A cache of these objects for any number of controllers and components, filled by one watch while the manager runs.
    ///
    /// A second call for the same client (or a clone), type, URL and selectors returns the same store. For a controller, use
    /// [`Controller::for_shared_stream`] with [`Store::subscribe`].
    ///
    /// No controller that starts later reconciles before the first list is in the store, with the
    /// [limit and log line](kube_runtime::Config::initial_sync_timeout) of its own lists: a reconciler never sees a store that is not
    /// filled yet.
    ///
    /// Its component, its checks in `/readyz` and `/livez`, its row on the debug page and the label `controller` of its metrics
    /// `kube_runtime_watch_*` are a name such as `cache of /api/v1/pods with labels app=web`; further ones with the same URL and selectors
    /// end in ` (2)`, ` (3)`.
    pub fn cache<K: Cached>(&mut self, api: Api<K>, config: watcher::Config) -> Store<K> {
        let (store, fill) = self.caches.store(api, config);
        if let Some((name, fill)) = fill {
            self.components.push((name, fill, Restart::Never));
        }
        store
    }

    /// The program writes to objects of `api`: when the manager starts, it also asks for the permissions of these writes, as it does for
    /// those of its watches and Leases, and names what is missing in the same message. Nothing else depends on it.
    ///
    /// An [`Api::all`] stands for writes in all namespaces, an [`Api::namespaced`] for those in one. A role that permits writes to some
    /// names only is reported.
    ///
    /// ```no_run
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use kube_client::{Api, Client};
    /// use kube_operator::manager::{Manager, Writes};
    ///
    /// # fn manager(client: Client) -> Manager {
    /// let (maps, children) = (Api::<ConfigMap>::all(client.clone()), Api::<Deployment>::all(client.clone()));
    /// Manager::new(client)
    ///     .writes(&maps, Writes::Finalizers)
    ///     .writes(&maps, Writes::Events)
    ///     .writes(&children, Writes::Objects)
    /// # }
    /// ```
    pub fn writes<K: Resource<Scope: 'static>>(mut self, api: &Api<K>, writes: Writes) -> Self {
        let (of, needed) = NeededRequests::of_writes(api, writes);
        self.writes.push((format!("Manager::writes of {of}"), needed));
        self
    }

    /// How long everything together may take to stop, with the release of the Lease. A tenth of it is kept for each later phase:
    /// leader-only components, controllers, the Lease, components and servers, if there are any. What still runs at the end of its phase is
    /// aborted, and the result is an error that names it. Default: 25 s, less than the `terminationGracePeriodSeconds` of a pod (30 s).
    pub fn grace_period(mut self, period: Duration) -> Self {
        self.grace_period = period;
        self
    }

    /// Adds and removes controllers, components and caches while the manager runs, and knows its addresses.
    pub fn handle(&self) -> ManagerHandle {
        ManagerHandle {
            client: self.client.clone(),
            commands: self.commands.0.clone(),
            addresses: self.addresses.subscribe(),
            caches: self.caches.clone(),
        }
    }
}

/// Such as `Page.example.com is missing for 35 s: the server does not serve it`; a line for each kind.
fn missing_kinds(kinds: &ServedKinds) -> Option<String> {
    let kinds = kinds.snapshot().into_iter();
    let missing = kinds.filter_map(|kind| {
        let reason = kind.message?;
        let state = match kind.state {
            "missing" => "is missing",
            "unknown" => "is not known",
            _ => "cannot be used",
        };
        Some(format!("{} {state} for {} s: {reason}", kind.name, kind.since.as_secs()))
    });
    let missing: Vec<_> = missing.collect();
    (!missing.is_empty()).then(|| missing.join("\n"))
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let controllers: Vec<_> = self.controllers.iter().map(|controller| &controller.name).collect();
        f.debug_struct("Manager").field("controllers", &controllers).finish_non_exhaustive()
    }
}
