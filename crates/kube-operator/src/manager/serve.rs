//! The servers of a manager.

use super::{
    cache::Caches,
    error::{BoxError, ManagerError},
    status::Status,
};
use crate::{
    clusters::Fleet,
    debug::DebugPage,
    health::Health,
    metrics::MetricsEndpoint,
    webhook::{
        Registry, WebhookServer, WebhookServerError, Webhooks,
        certificates::{CertificateNeeds, CertificateSource},
    },
};
use axum::Router;
use futures::{FutureExt, future::BoxFuture};
use kube_core::panic::panic_message;
use kube_runtime::served::ServedKinds;
use kube_serve::listener::Listener;
use serde_json::json;
use std::{
    net::SocketAddr,
    panic::{AssertUnwindSafe, catch_unwind},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Of metrics and health: scrapers and probes need a few.
const MAX_CONNECTIONS: usize = 1024;

/// A webhook server that was not started.
pub(super) struct Webhook {
    pub(super) address: SocketAddr,
    /// What API servers and deployments have to know of it.
    pub(super) registry: Registry,
    pub(super) certificates: CertificateNeeds,
    start: BoxFuture<'static, Result<WebhookServer, WebhookServerError>>,
}

impl Webhook {
    pub(super) fn new(address: SocketAddr, webhooks: Webhooks, certificates: impl CertificateSource) -> Self {
        let (registry, needs) = (webhooks.registry().clone(), certificates.needs());
        let start = WebhookServer::bind(address, webhooks, certificates).boxed();
        Self { address, registry, certificates: needs, start }
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

/// Where the debug page is served.
#[derive(Clone, Copy)]
pub(super) enum PageAt {
    /// Beside the metrics.
    Metrics,
    Own(SocketAddr),
    Nowhere,
}

/// What the debug page shows.
pub(super) struct Page {
    pub(super) version: Option<String>,
    pub(super) since: Instant,
    pub(super) health: Health,
    pub(super) status: Status,
    pub(super) caches: Caches,
    pub(super) kinds: Option<ServedKinds>,
    /// `None` without clusters besides the manager's own.
    pub(super) fleet: Option<Fleet>,
}

impl Page {
    pub(super) fn router(self) -> Router {
        let Self { version, since, health, status, caches, kinds, fleet } = self;
        let replicas = status.clone();
        let process = move || json!({ "version": version, "uptime_seconds": since.elapsed().as_secs_f64() });
        let checked = move || {
            let health = health.clone();
            async move { health.report().await }
        };
        let page = DebugPage::new()
            .section("process", process)
            .asynchronous_section("health", checked)
            .section("replicas", move || replicas.replicas())
            .section("controllers", move || status.snapshots())
            .section("caches", move || caches.snapshots());
        let page = match kinds {
            Some(kinds) => page.section("kinds", move || kinds.snapshot()),
            None => page,
        };
        match fleet {
            Some(fleet) => page.section("clusters", move || fleet.statuses()).router(),
            None => page.router(),
        }
    }
}

/// A server without metrics, for the debug page.
pub(super) struct PageServer {
    listener: Listener,
    router: Router,
}

impl PageServer {
    pub(super) async fn bind(addr: SocketAddr, router: Router) -> Result<Self, ManagerError> {
        Ok(Self { listener: bind(addr).await?, router })
    }

    pub(super) fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    pub(super) async fn serve(self, stop: CancellationToken) -> Result<(), BoxError> {
        tracing::info!(address = %self.local_addr(), "serving the debug page");
        self.listener.serve(self.router, stop.cancelled()).await;
        Ok(())
    }
}

async fn bind(addr: SocketAddr) -> Result<Listener, ManagerError> {
    let listener = Listener::bind(addr).await.map_err(|reason| ManagerError::Bind { addr, reason })?;
    Ok(listener.max_connections(MAX_CONNECTIONS))
}

/// Metrics and health, and what else is served beside them.
pub(super) struct MetricsServer {
    listener: Listener,
    router: Router,
    endpoint: MetricsEndpoint,
}

impl MetricsServer {
    pub(super) async fn bind(
        addr: SocketAddr,
        health: &Health,
        page: Router,
        routes: Vec<Router>,
    ) -> Result<Self, ManagerError> {
        let endpoint = MetricsEndpoint::install()?;
        let listener = bind(addr).await?;
        let ours = health.router().merge(endpoint.router()).merge(page);
        let router = merge(ours, routes)?;
        Ok(Self { listener, router, endpoint })
    }

    pub(super) fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
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

/// axum cannot tell beforehand whether routes collide: it panics. The routers are dropped with the panic.
fn merge(ours: Router, routes: Vec<Router>) -> Result<Router, ManagerError> {
    catch_unwind(AssertUnwindSafe(|| routes.into_iter().fold(ours, Router::merge)))
        .map_err(|panic| ManagerError::Routes(panic_message(&*panic).to_owned()))
}
