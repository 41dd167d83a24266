//! The servers of a manager.

use super::{
    cache::Caches,
    error::{BoxError, ManagerError},
    status::Status,
};
use crate::{
    debug::DebugPage,
    health::Health,
    metrics::MetricsEndpoint,
    webhook::{WebhookServer, WebhookServerError, Webhooks, certificates::CertificateSource},
};
use axum::Router;
use futures::{FutureExt, future::BoxFuture};
use kube_core::panic::panic_message;
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

/// Whether the debug page is served, and what it says of the process.
pub(super) struct Page {
    pub(super) served: bool,
    pub(super) version: Option<String>,
    pub(super) since: Instant,
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
        caches: &Caches,
        page: Page,
        routes: Vec<Router>,
    ) -> Result<Self, ManagerError> {
        let endpoint = MetricsEndpoint::install()?;
        let listener = Listener::bind(addr).await.map_err(|reason| ManagerError::Bind { addr, reason })?;
        let listener = listener.max_connections(MAX_CONNECTIONS);
        let (replicas, controllers, caches) = (status.clone(), status.clone(), caches.clone());
        let Page { served, version, since } = page;
        let process = move || json!({ "version": version, "uptime_seconds": since.elapsed().as_secs_f64() });
        let page = DebugPage::new()
            .section("process", process)
            .section("replicas", move || replicas.replicas())
            .section("controllers", move || controllers.snapshots())
            .section("caches", move || caches.snapshots());
        let page = if served { page.router() } else { Router::new() };
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
