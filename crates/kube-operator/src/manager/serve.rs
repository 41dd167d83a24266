//! The servers of a manager.

use super::error::{BoxError, ManagerError};
use crate::{
    debug::DebugPage,
    health::{Check, Health, Probe},
    metrics::MetricsEndpoint,
    webhook::{WebhookServer, WebhookServerError, Webhooks, certificates::CertificateSource},
};
use axum::Router;
use futures::{FutureExt, future::BoxFuture};
use kube_runtime::{
    controller::{Monitor, ProgressLimits},
    leader_election::LeaderElector,
    sharding::Membership,
};
use kube_serve::listener::Listener;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// A webhook server that was not started.
pub(super) struct Webhook {
    start: BoxFuture<'static, Result<WebhookServer, WebhookServerError>>,
}

impl Webhook {
    pub(super) fn new(address: SocketAddr, webhooks: Webhooks, certificates: impl CertificateSource) -> Self {
        Self { start: WebhookServer::bind(address, webhooks, certificates).boxed() }
    }

    pub(super) async fn start(self) -> Result<WebhookServer, ManagerError> {
        Ok(self.start.await?)
    }
}

pub(super) async fn serve_webhooks(server: WebhookServer, stop: CancellationToken) -> Result<(), BoxError> {
    tracing::info!(address = %server.local_addr(), "serving webhooks");
    server.serve(stop.cancelled()).await;
    Ok(())
}

/// Metrics, health and the debug page.
pub(super) struct MetricsServer {
    listener: Listener,
    router: Router,
    endpoint: MetricsEndpoint,
}

impl MetricsServer {
    pub(super) async fn bind(
        addr: SocketAddr,
        health: &Health,
        status: &Status,
        routes: Router,
    ) -> Result<Self, ManagerError> {
        let endpoint = MetricsEndpoint::install()?;
        let listener = Listener::bind(addr).await.map_err(|reason| ManagerError::Bind { addr, reason })?;
        let (replicas, controllers) = (status.clone(), status.clone());
        let page = DebugPage::new()
            .section("replicas", move || replicas.replicas())
            .section("controllers", move || controllers.snapshots());
        let router = health.router().merge(endpoint.router()).merge(page.router()).merge(routes);
        Ok(Self { listener, router, endpoint })
    }

    pub(super) async fn serve(self, stop: CancellationToken) -> Result<(), BoxError> {
        tracing::info!(address = %self.listener.local_addr(), "serving metrics and health");
        tokio::select! {
            _served = self.listener.serve(self.router, stop.cancelled()) => {}
            () = self.endpoint.upkeep() => {}
        }
        Ok(())
    }
}

/// What the debug page and the health checks show.
#[derive(Clone, Default)]
pub(super) struct Status {
    monitors: Arc<Mutex<BTreeMap<Arc<str>, Monitor>>>,
    pub(super) replica: Arc<OnceLock<Replica>>,
}

/// This process among the replicas.
pub(super) enum Replica {
    Alone,
    Elected(LeaderElector),
    Member(Membership),
}

impl Status {
    pub(super) fn add(&self, name: &Arc<str>, monitor: &Monitor, health: &Health, limits: &ProgressLimits) {
        self.monitors().insert(Arc::clone(name), monitor.clone());
        let (synced, progress, limits) = (monitor.clone(), monitor.clone(), limits.clone());
        let check = format!("controller-{name}");
        let ready = move || match synced.is_synced() {
            true => Ok(()),
            false => Err("the caches are not in sync"),
        };
        health.add(Probe::Ready, Check::new(check.clone(), ready));
        health.add(Probe::Live, Check::new(check, move || progress.progress(&limits)));
    }

    pub(super) fn remove(&self, name: &str, health: &Health) {
        self.monitors().remove(name);
        for probe in [Probe::Ready, Probe::Live] {
            health.remove(probe, &format!("controller-{name}"));
        }
    }

    fn monitors(&self) -> std::sync::MutexGuard<'_, BTreeMap<Arc<str>, Monitor>> {
        self.monitors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshots(&self) -> Vec<kube_runtime::controller::Snapshot> {
        let monitors: Vec<Monitor> = self.monitors().values().cloned().collect();
        monitors.iter().map(Monitor::snapshot).collect()
    }

    fn replicas(&self) -> Value {
        match self.replica.get() {
            Some(Replica::Elected(elector)) => json!({
                "mode": "leader election",
                "identity": elector.identity(),
                "leads": elector.is_leader(),
                "state": format!("{:?}", elector.state()),
            }),
            Some(Replica::Member(membership)) => json!({
                "mode": "sharding",
                "identity": membership.identity(),
                "members": membership.members().join(", "),
            }),
            Some(Replica::Alone) => json!({ "mode": "alone" }),
            None => json!({ "mode": "starting" }),
        }
    }
}
