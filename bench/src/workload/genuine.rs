//! Requests to a genuine server: `get`, a list, and the events that begin a watch.

use std::pin::pin;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;

use super::super::kube::api::{ListParams, WatchEvent, WatchParams};
use super::super::kube::{Api, Client};
use super::{control, get};
use crate::case::Genuine;
use crate::measure::{self, Metrics, Stopwatch};

pub(super) async fn measure(client: Client, request: Genuine) -> anyhow::Result<Metrics> {
    // Not measured: connecting.
    control::connect(&client).await?;
    match request {
        Genuine::Get { in_flight, requests } => get::requests_of(client, in_flight, requests).await,
        Genuine::List { count } => list(client, count).await,
        Genuine::Watch { count } => watch(client, count).await,
    }
}

async fn list(client: Client, count: usize) -> anyhow::Result<Metrics> {
    let api: Api<ConfigMap> = Api::namespaced(client, crate::genuine::LISTED);
    let watch = Stopwatch::start();
    let objects = api.list(&ListParams::default()).await?.items;
    let (wall, cpu) = watch.stop();
    // A controller adds one with the CA certificate to each namespace.
    anyhow::ensure!(objects.len() >= count, "received {} of {count} ConfigMaps", objects.len());
    metrics(["ms", "ms CPU time"], [wall, cpu])
}

/// Version 0 makes the server send an event for each object that exists, from its cache.
async fn watch(client: Client, count: usize) -> anyhow::Result<Metrics> {
    let api: Api<ConfigMap> = Api::all(client);
    let watch = Stopwatch::start();
    let mut events = pin!(api.watch(&WatchParams::default(), "0").await?);
    let mut seen = 0;
    while seen < count
        && let Some(event) = events.try_next().await?
    {
        anyhow::ensure!(matches!(event, WatchEvent::Added(_)), "expected only ADDED events");
        seen += 1;
    }
    let (wall, cpu) = watch.stop();
    anyhow::ensure!(seen == count, "received {seen} of {count} events");
    let each = 1e3 / count as f64;
    metrics(["µs per event", "µs CPU time per event"], [wall * each, cpu * each])
}

fn metrics(names: [&str; 2], values: [f64; 2]) -> anyhow::Result<Metrics> {
    let mut metrics: Metrics = names.map(str::to_owned).into_iter().zip(values).collect();
    metrics.insert("MiB peak RSS".into(), measure::peak_rss()?);
    Ok(metrics)
}
