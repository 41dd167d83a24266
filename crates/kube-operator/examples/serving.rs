//! Health, metrics, the debug page and a webhook on one port, beside a controller on the embedded API server:
//! `cargo run -p kube-operator --example serving`.
//!
//! It prints its address, and ends when its standard input ends. `cargo xtask promtool` checks its metrics.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client, Config, api::PostParams};
use kube_core::{ObjectMeta, ResourceExt, admission::AdmissionRequest};
use kube_operator::{
    debug::DebugPage,
    health::{Check, Health},
    metrics::MetricsEndpoint,
    webhook::{Denial, Webhooks},
};
use kube_runtime::{
    Controller,
    controller::{Action, ProgressLimits},
    watcher,
};
use kube_serve::listener::Listener;
use kube_testserver::TestServer;
use tokio::io::AsyncReadExt;

#[derive(Debug, thiserror::Error)]
#[error("cannot apply Deployment {0}: <template> is invalid: spec.replicas: must be at least 1")]
struct ApplyError(String);

async fn reconcile(map: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, ApplyError> {
    match map.name_any().as_str() {
        name if name.starts_with("slow") => tokio::time::sleep(Duration::from_secs(3600)).await,
        name if name.starts_with("broken") => return Err(ApplyError(name.to_owned())),
        "panics" => panic!("an index is out of bounds"),
        _ => {}
    }
    Ok(Action::requeue(Duration::from_secs(300)))
}

async fn check(request: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
    match request.object {
        Some(map) if map.data.is_none() => Err(Denial::invalid("data", "must not be empty")),
        _ => Ok(()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let metrics = MetricsEndpoint::install()?;
    let api_server = TestServer::start().await?;
    let client = Client::try_from(Config::new(api_server.url().parse()?))?;
    create_maps(&client).await?;

    let maps = Api::<ConfigMap>::all(client.clone());
    let controller = Controller::new(maps, watcher::Config::default())
        .with_config(kube_runtime::Config::default().name("settings").concurrency(8))
        .owns(Api::<Secret>::all(client.clone()), watcher::Config::default());
    let (live, ready, shown) = (controller.monitor(), controller.monitor(), controller.monitor());
    let run = controller.run(reconcile, |_, _, _| Action::retry(), Arc::new(())).for_each(async |_| ());
    let standby = Controller::new(Api::<Secret>::all(client), watcher::Config::default())
        .with_config(kube_runtime::Config::default().name("secrets"));
    let idle = standby.monitor();

    let health = Health::new()
        .live(Check::new("settings", move || live.progress(&ProgressLimits::default())))
        .ready(Check::new("settings", move || {
            ready.is_synced().then_some(()).ok_or("the first lists are not complete")
        }));
    let page = DebugPage::new().section("controllers", move || [shown.snapshot(), idle.snapshot()]);
    let webhooks = Webhooks::new().validate(check).router()?;
    let router = health.router().merge(metrics.router()).merge(page.router()).merge(webhooks);

    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?.drain_deadline(Duration::from_secs(1));
    println!("http://{}", listener.local_addr());
    let stop = async { drop(tokio::io::stdin().read_to_end(&mut Vec::new()).await) };
    tokio::select! {
        _ = listener.serve(router, stop) => {}
        () = run => {}
        () = metrics.upkeep() => {}
    }
    Ok(())
}

async fn create_maps(client: &Client) -> Result<(), kube_client::Error> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for name in ["works", "also-works", "slow-one", "slow-two", "broken-one", "broken-two", "panics"] {
        let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
        let data = Some(BTreeMap::from([("colour".to_owned(), "blue".to_owned())]));
        maps.create(&PostParams::default(), &ConfigMap { metadata, data, ..ConfigMap::default() }).await?;
    }
    Ok(())
}
