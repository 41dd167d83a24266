//! Running a manager: the phases of its start, and of its stop in reverse.

use super::{
    addresses::Addresses,
    build::Manager,
    cache::Caches,
    components::{Component, Group, Restart, supervise},
    controllers::{ManagedController, Surroundings},
    error::{Ended, ManagerError, Panicked},
    grace_period::GracePeriod,
    handle::Command,
    members::{CLUSTERS, Members},
    permissions::{NeededRequests, PermissionReview, Refusals},
    replicas::{Hook, Replica, Replicas, join, while_assigned},
    serve::{MetricsServer, Page, PageAt, PageServer, Webhook, serve_webhooks},
    served::{DEFINITION_PATHS, KINDS_CHECK, WhileServed},
    signals::Signals,
    status::Status,
};
use crate::{
    clusters::supervise as supervise_clusters,
    health::{Health, Probe},
};
use axum::Router;
use futures::{FutureExt, future::BoxFuture};
use kube_client::Client;
use kube_core::panic::panic_message;
use kube_runtime::controller::{Assignments, ProgressLimits};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

impl Manager {
    /// Runs until SIGINT or SIGTERM, and then stops. A second signal ends the wait for what is still running.
    ///
    /// # Errors
    ///
    /// What could not start, or the first failure.
    pub async fn run_until_signal(self) -> Result<(), ManagerError> {
        let mut signals = Signals::new();
        let stop = CancellationToken::new();
        let run = self.run_until(stop.clone().cancelled_owned());
        tokio::pin!(run);
        tokio::select! {
            result = &mut run => return result,
            signal = signals.next() => {
                tracing::info!(signal, "the manager stops");
                stop.cancel();
            }
        }
        tokio::select! {
            result = &mut run => result,
            signal = signals.next() => {
                tracing::warn!(signal, "a second signal: the manager ends without waiting for what still runs");
                Ok(())
            }
        }
    }

    /// Runs until `shutdown` completes, and then stops.
    ///
    /// # Errors
    ///
    /// What could not start, or the first failure.
    ///
    /// # Cancellation
    ///
    /// Dropping the future aborts everything at once. The Lease is not released but expires, because what was aborted may still run in a
    /// thread.
    ///
    /// If `shutdown` panics, the manager stops with an error, because nothing else could stop it.
    pub async fn run_until(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), ManagerError> {
        run(self, shutdown).await
    }
}

/// A manager that starts, runs or stops.
struct Running<'a> {
    servers: Group,
    components: Group,
    controllers: Group,
    leading: Group,
    status: Status,
    health: Health,
    caches: Caches,
    limits: ProgressLimits,
    assignments: Option<Assignments>,
    shutdown: BoxFuture<'a, End>,
    /// Executed from the end of the start on: a controller needs its assignments.
    commands: mpsc::UnboundedReceiver<Command>,
    started: bool,
    /// Failures of hooks that run after an election.
    failures: (mpsc::UnboundedSender<ManagerError>, mpsc::UnboundedReceiver<ManagerError>),
    /// Who waits for the end of a controller or component.
    removals: BTreeMap<Arc<str>, Vec<oneshot::Sender<()>>>,
    review: PermissionReview,
    refusals: Refusals,
    /// The names of controllers that run while their kinds are served.
    reserved: BTreeSet<Arc<str>>,
    grace_period: Duration,
}

/// What is started first.
struct Servers {
    metrics: Option<SocketAddr>,
    routes: Vec<Router>,
    page: Page,
    page_at: PageAt,
    webhooks: Option<Webhook>,
    addresses: watch::Sender<Addresses>,
}

/// What is started when the servers listen.
struct Work {
    client: Client,
    replicas: Replicas,
    hooks: Vec<Hook>,
    components: Vec<(Arc<str>, Component, Restart)>,
    leader_components: Vec<(Arc<str>, Component, Restart)>,
    controllers: Vec<ManagedController>,
    while_served: Vec<WhileServed>,
    members: Members,
    commands: mpsc::UnboundedSender<Command>,
    needed: NeededRequests,
    /// What is watched besides the watches of `controllers`.
    paths: Vec<String>,
}

/// Why the manager stops: shutdown, or a failure.
type End = Result<(), ManagerError>;

/// Starts everything, runs until `shutdown` completes or something fails, and stops what has started.
async fn run(manager: Manager, shutdown: impl Future<Output = ()> + Send) -> Result<(), ManagerError> {
    check_names(&manager)?;
    let Manager { metrics, routes, webhooks, addresses, version, .. } = manager;
    let page = Page {
        version,
        since: Instant::now(),
        health: manager.health.clone(),
        status: manager.status.clone(),
        caches: manager.caches.clone(),
        kinds: manager.kinds.clone(),
        fleet: manager.members.are_wanted().then(|| manager.members.fleet.clone()),
    };
    let servers = Servers { metrics, routes, page, page_at: manager.debug_page, webhooks, addresses };
    let served_paths = manager.while_served.iter().flat_map(WhileServed::paths);
    let definitions = manager.kinds.iter().flat_map(|_| DEFINITION_PATHS.map(str::to_owned));
    let work = Work {
        paths: served_paths.chain(definitions).chain(manager.members.paths()).collect(),
        while_served: manager.while_served,
        members: Members { hand_over: manager.replicas.hand_over(), ..manager.members },
        commands: manager.commands.0,
        client: manager.client,
        replicas: manager.replicas,
        hooks: manager.before_leading,
        components: manager.components,
        leader_components: manager.leader_components,
        controllers: manager.controllers,
        needed: NeededRequests::of_all(manager.writes.into_iter().map(|(_, needed)| needed)),
    };
    let mut running = Running {
        servers: Group::default(),
        components: Group::default(),
        controllers: Group::default(),
        leading: Group::default(),
        status: manager.status,
        health: manager.health,
        caches: manager.caches,
        limits: manager.limits,
        assignments: None,
        shutdown: guarded(shutdown).boxed(),
        commands: manager.commands.1,
        started: false,
        failures: mpsc::unbounded_channel(),
        removals: BTreeMap::new(),
        review: PermissionReview::new(work.client.clone(), manager.refusals.clone()),
        refusals: manager.refusals,
        reserved: work.while_served.iter().map(|served| Arc::clone(&served.name)).collect(),
        grace_period: manager.grace_period,
    };
    let result = match running.start(servers, work).await {
        Ok(()) => running.until_end().await,
        Err(end) => end,
    };
    if let Err(error) = &result {
        tracing::error!(error = %kube_client::error::ErrorChain(error), "the manager stops");
    }
    let stopped = running.stop().await;
    result.and(stopped)
}

impl Running<'_> {
    /// # Errors
    ///
    /// The end comes first.
    async fn start(&mut self, servers: Servers, work: Work) -> Result<(), End> {
        self.start_servers(servers).await?;
        let mut needed = work.needed;
        needed.add_leases(&work.replicas);
        if work.members.are_wanted() {
            needed.add_identity();
        }
        let paths = work.controllers.iter().flat_map(|controller| controller.paths.clone());
        self.review_watches(needed, paths.chain(work.paths));
        for (name, component, restart) in work.components {
            self.start_component(name, component, restart);
        }
        for served in work.while_served {
            let commands = work.commands.clone();
            let grace = self.grace_period;
            self.components.start(served.component_name(), |stop| served.run(commands, grace, stop));
        }
        let joining = join(work.client.clone(), work.replicas, work.hooks, self.failures.0.clone());
        let (replica, assignments) = self.unless_ended(joining).await?;
        self.status.replica.get_or_init(|| replica);
        self.assignments = assignments;
        for controller in work.controllers {
            self.add(controller);
        }
        if work.members.are_wanted() {
            self.start_members(work.client, work.members);
        }
        for (name, component, restart) in work.leader_components {
            self.start_leader_component(name, component, restart);
        }
        self.started = true;
        self.status.set_readiness(Ok(()));
        Ok(())
    }

    async fn start_servers(&mut self, servers: Servers) -> Result<(), End> {
        // Dropped at the end: no further address is bound then.
        let Servers { metrics, routes, page, page_at, webhooks, addresses } = servers;
        let mut beside_metrics = Router::new();
        match page_at {
            PageAt::Metrics => beside_metrics = page.router(),
            PageAt::Own(address) => {
                let server = self.unless_ended(PageServer::bind(address, page.router())).await?;
                addresses.send_modify(|addresses| addresses.debug_page = Some(server.local_addr()));
                self.servers.start("the server of the debug page".into(), |stop| server.serve(stop));
            }
            PageAt::Nowhere => {}
        }
        if let Some(address) = metrics {
            let health = self.health.clone();
            let binding = async move { MetricsServer::bind(address, &health, beside_metrics, routes).await };
            let server = self.unless_ended(binding).await?;
            addresses.send_modify(|addresses| addresses.metrics = Some(server.local_addr()));
            self.servers.start("the metrics server".into(), |stop| server.serve(stop));
        }
        if let Some(webhook) = webhooks {
            let server = self.unless_ended(webhook.start()).await?;
            addresses.send_modify(|addresses| addresses.webhooks = Some(server.local_addr()));
            self.servers.start("the webhook server".into(), |stop| serve_webhooks(server, stop));
        }
        Ok(())
    }

    /// The result of a step of the start, which is dropped when the end comes first.
    async fn unless_ended<T>(
        &mut self,
        step: impl Future<Output = Result<T, ManagerError>> + Send,
    ) -> Result<T, End> {
        tokio::select! {
            biased;
            end = self.until_end() => Err(end),
            result = step => result.map_err(Err),
        }
    }

    /// Runs until the shutdown, or until something fails.
    async fn until_end(&mut self) -> End {
        loop {
            let (name, result) = tokio::select! {
                end = &mut self.shutdown => return end,
                Some(failure) = self.failures.1.recv() => return Err(failure),
                Some(command) = self.commands.recv(), if self.started => {
                    self.execute(command)?;
                    continue;
                }
                Some(ended) = self.controllers.next_ended() => ended,
                Some(ended) = self.leading.next_ended() => ended,
                Some(ended) = self.components.next_ended() => ended,
                Some(ended) = self.servers.next_ended() => ended,
            };
            self.status.remove(&name, &self.health);
            self.caches.forget(&name);
            let removed = self.removals.remove(&name).is_some();
            match result {
                Ok(()) if removed => tracing::info!(%name, "removed"),
                Ok(()) => return Err(ManagerError::Failed { name, reason: Box::new(Ended) }),
                Err(reason) => return Err(ManagerError::Failed { name, reason }),
            }
        }
    }

    fn execute(&mut self, command: Command) -> Result<(), ManagerError> {
        match command {
            Command::Add(controller) => {
                match controller.while_served {
                    true => self.check_running(&controller.name)?,
                    false => self.check_name(&controller.name)?,
                }
                self.review_watches(NeededRequests::default(), controller.paths.clone());
                self.add(controller);
            }
            Command::AddComponent(name, component, restart) => {
                self.check_name(&name)?;
                self.review_watches(NeededRequests::default(), []); // it may fill a cache
                self.start_component(name, component, restart);
            }
            Command::AddLeaderComponent(name, component, restart) => {
                self.check_name(&name)?;
                self.start_leader_component(name, component, restart);
            }
            Command::Remove(name, removed) => {
                let found = self.work().iter().any(|group| group.stop(&name));
                if found {
                    self.removals.entry(name).or_default().push(removed);
                }
            }
            Command::Abort(name) => drop(self.work().iter().any(|group| group.abort(&name))),
        }
        Ok(())
    }

    /// Asks for permissions: these, and those of the watches of controllers and of all caches.
    fn review_watches(&mut self, mut needed: NeededRequests, paths: impl IntoIterator<Item = String>) {
        paths.into_iter().chain(self.caches.paths()).for_each(|path| needed.add_watch(&path));
        self.review.ask(needed);
    }

    fn check_name(&self, name: &Arc<str>) -> Result<(), ManagerError> {
        match self.reserved.contains(name) {
            true => Err(ManagerError::DuplicateName(Arc::clone(name))),
            false => self.check_running(name),
        }
    }

    fn check_running(&self, name: &Arc<str>) -> Result<(), ManagerError> {
        match self.work().iter().any(|group| group.contains(name)) {
            true => Err(ManagerError::DuplicateName(Arc::clone(name))),
            false => Ok(()),
        }
    }

    /// What has names that users gave.
    fn work(&self) -> [&Group; 3] {
        [&self.controllers, &self.leading, &self.components]
    }

    fn add(&mut self, controller: ManagedController) {
        let ManagedController { name, monitor, while_served, reconciles, run, .. } = controller;
        self.status.add((&name, &monitor), while_served, &self.health, &self.limits);
        let surroundings = Surroundings {
            assignments: self.assignments.clone(),
            caches: self.caches.syncs(),
            streaming_lists: self.caches.stream_lists(),
            refusals: self.refusals.clone(),
            watch_errors: None,
        };
        self.controllers.start(name, |stop| run(surroundings, stop, &reconciles));
    }

    fn start_members(&mut self, hub: Client, members: Members) {
        let stop_limit = self.grace_period / 2; // later phases have the rest, and each has at most a tenth
        let run = members.into_run(hub, self.assignments.as_ref(), self.caches.stream_lists(), stop_limit);
        self.controllers.start(CLUSTERS.into(), |stop| async move {
            supervise_clusters(run, stop).await;
            Ok(())
        });
    }

    fn start_component(&mut self, name: Arc<str>, component: Component, restart: Restart) {
        self.components.start(Arc::clone(&name), |stop| supervise(name, component, restart, stop));
    }

    fn start_leader_component(&mut self, name: Arc<str>, component: Component, restart: Restart) {
        let assignments = self.assignments.clone();
        self.leading.start(Arc::clone(&name), |stop| async move {
            match assignments {
                Some(assignments) => while_assigned(assignments, name, component, restart, stop).await,
                None => supervise(name, component, restart, stop).await,
            }
        });
    }

    async fn stop(&mut self) -> Result<(), ManagerError> {
        self.status.set_readiness(Err("the manager stops"));
        let groups = [&self.leading, &self.controllers, &self.components, &self.servers];
        let running = groups.iter().filter(|group| !group.is_empty()).count();
        let leased = self.status.replica.get().is_some_and(Replica::has_lease);
        let mut grace = GracePeriod::new(self.grace_period, running + usize::from(leased));
        let (mut result, mut late) = (Ok(()), Vec::new());
        result =
            result.and(self.leading.stop_all("the components of the leader", &mut grace, &mut late).await);
        result = result.and(self.controllers.stop_all("the controllers", &mut grace, &mut late).await);
        drop(self.assignments.take());
        if let Some(replica) = self.status.replica.get().filter(|_| leased) {
            match late.is_empty() {
                true => {
                    tracing::info!("stop: the Lease is given up");
                    replica.release(grace.next_deadline()).await;
                }
                false => {
                    tracing::warn!(aborted = ?late, "the Lease is not released, because what was aborted may still run");
                    replica.let_expire();
                }
            }
        }
        result = result.and(self.components.stop_all("the components", &mut grace, &mut late).await);
        result = result.and(self.servers.stop_all("the servers", &mut grace, &mut late).await);
        if !late.is_empty() {
            result = result.and(Err(ManagerError::GracePeriod { names: late, limit: self.grace_period }));
        }
        result
    }
}

/// A manager that is dropped aborts its work, which may still run in other threads: another replica has to wait. After a stop, this does
/// nothing.
impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.health.remove(Probe::Ready, KINDS_CHECK); // it would keep the watches of definitions
        if let Some(replica) = self.status.replica.get() {
            replica.let_expire();
        }
    }
}

/// A panic of the future that says when to stop is a failure.
async fn guarded(shutdown: impl Future<Output = ()> + Send) -> End {
    AssertUnwindSafe(shutdown).catch_unwind().await.map_err(|panic| ManagerError::Failed {
        name: "the shutdown future of the manager".into(),
        reason: Box::new(Panicked(panic_message(&*panic).to_owned())),
    })
}

fn check_names(manager: &Manager) -> Result<(), ManagerError> {
    if let Some(unknown) = manager.members.unknown_name() {
        return Err(ManagerError::NotOnClusters(unknown.to_owned()));
    }
    let components = manager.components.iter().chain(&manager.leader_components).map(|(name, ..)| name);
    let controllers = manager.controllers.iter().map(|controller| &controller.name);
    let while_served = manager.while_served.iter().map(|served| &served.name);
    let clusters: Option<Arc<str>> = manager.members.are_wanted().then(|| CLUSTERS.into());
    let mut names: Vec<&Arc<str>> =
        components.chain(controllers).chain(while_served).chain(&clusters).collect();
    names.sort();
    let duplicate = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
    match duplicate.or(manager.members.duplicate_name()) {
        Some(name) => Err(ManagerError::DuplicateName(Arc::clone(name))),
        None => Ok(()),
    }
}
