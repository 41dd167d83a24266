//! Health, metrics, the debug page and a webhook on one port, against the embedded API server: `cargo run -p kube-operator --example serving`.
//!
//! It prints its address, and ends when its standard input ends. `.ci/promtool` checks its metrics.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, api::PostParams};
use kube_core::{ObjectMeta, admission::AdmissionRequest};
use kube_operator::{
    debug::DebugPage,
    health::{Check, Health},
    metrics::MetricsEndpoint,
    webhook::{Denial, Webhooks},
};
use kube_serve::listener::Listener;
use kube_testserver::ApiServer;
use serde_json::json;
use tokio::io::AsyncReadExt;

async fn check(request: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
    match request.object {
        Some(map) if map.data.is_none() => Err(Denial::invalid("data", "must not be empty")),
        _ => Ok(()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let metrics = MetricsEndpoint::install()?;
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(ApiServer::new(), "default"));
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some("settings".into()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    maps.create(&PostParams::default(), &map).await?;

    let health = Health::new().live(Check::new("loop", || Ok::<_, String>(()))).ready(Check::asynchronous(
        "configmaps",
        move || {
            let maps = maps.clone();
            async move { maps.get("settings").await.map(drop) }
        },
    ));
    let router = health
        .router()
        .merge(metrics.router())
        .merge(DebugPage::new().section("leader", leader).section("controllers", controllers).router())
        .merge(Webhooks::new().validate(check).router()?);
    tokio::spawn(metrics.upkeep());

    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?.drain_deadline(Duration::from_secs(1));
    println!("http://{}", listener.local_addr());
    let stop = async { drop(tokio::io::stdin().read_to_end(&mut Vec::new()).await) };
    listener.serve(router, stop).await;
    Ok(())
}

/// What an elector reports.
fn leader() -> serde_json::Value {
    json!({"state": "leading", "lease": "my-namespace/my-operator", "identity": "my-operator-7d9f-x2x1p", "since_seconds": 4210.0})
}

/// What the monitors of two controllers report.
fn controllers() -> serde_json::Value {
    json!([
        {"name": "pages", "kind": "Page", "state": "running", "synced": true, "objects": 1204,
         "queue": {"changes": 3, "background": 18, "delayed": 240, "oldest_due_seconds": 0.42},
         "max_concurrent": 8, "active": 2,
         "running": [
            {"namespace": "web", "name": "home", "reason": "object updated", "attempt": 1, "waited_seconds": 0.003, "elapsed_seconds": 12.5},
            {"namespace": "web", "name": "imprint", "reason": "related object updated: ConfigMap imprint", "attempt": 4,
             "waited_seconds": 0.2, "elapsed_seconds": 0.81}],
         "failing": [
            {"namespace": "shop", "name": "checkout", "outcome": "error", "attempt": 7, "retry_in_seconds": 64.0,
             "message": "cannot apply Deployment shop/checkout: <template> is invalid: spec.replicas: must be at least 1"},
            {"namespace": "shop", "name": "cart", "outcome": "timeout", "attempt": 2, "retry_in_seconds": 2.0,
             "message": "the reconcile did not finish within 30 s"}],
         "watches": [
            {"kind": "Page", "scope": "all namespaces", "state": "watching", "objects": 1204, "last_event_seconds": 0.9, "restarts": 2, "relists": 1},
            {"kind": "ConfigMap", "scope": "all namespaces", "state": "backoff", "objects": 88, "last_event_seconds": 340.0,
             "restarts": 9, "relists": 1, "error": "403 Forbidden: configmaps is forbidden: User \"system:serviceaccount:web:operator\" cannot watch resource \"configmaps\""}],
         "totals": {"reconciles": 120_417, "errors": 912, "panics": 0, "timeouts": 3}},
        {"name": "sites", "kind": "Site", "state": "standby", "synced": true, "objects": 0,
         "queue": {"changes": 0, "background": 0, "delayed": 0, "oldest_due_seconds": null},
         "max_concurrent": null, "active": 0, "running": [], "failing": [], "watches": [], "totals": {}},
    ])
}
