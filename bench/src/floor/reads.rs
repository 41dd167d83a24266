//! Reads of one connection: lists, watches, and one object after the other.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde::de::DeserializeOwned;

use super::collection::{CONFIG_MAPS, PODS, each_event, each_page};
use super::connection::Connection;
use crate::growth;
use crate::measure::{self, Metrics, Stopwatch};

/// Keeps the Pods of a list.
pub(super) async fn list(connection: &mut Connection, count: usize) -> anyhow::Result<Metrics> {
    let mut pods: Vec<Pod> = Vec::new();
    let watch = Stopwatch::start();
    each_page(connection, PODS, |page| pods.extend(page)).await?;
    let (_, cpu) = watch.stop();
    ensure!(pods.len() == count, "received {} of {count} Pods", pods.len());
    Ok([("ms CPU time".into(), cpu)].into())
}

/// Decodes the Pods of a watch and drops each.
pub(super) async fn watch<K: DeserializeOwned>(
    connection: &mut Connection,
    count: usize,
) -> anyhow::Result<Metrics> {
    let watch = Stopwatch::start();
    each_event(connection, count, |pod: K| drop(black_box(pod))).await?;
    let (_, cpu) = watch.stop();
    let each = 1e3 / count as f64;
    Ok([("µs CPU time per event".into(), cpu * each), ("MiB peak RSS".into(), measure::peak_rss()?)].into())
}

/// Keeps ConfigMaps.
pub(super) async fn keep(connection: &mut Connection, count: usize) -> anyhow::Result<Metrics> {
    let mut maps: Vec<Arc<ConfigMap>> = Vec::with_capacity(count);
    let watch = Stopwatch::start();
    each_page(connection, CONFIG_MAPS, |page| maps.extend(page.into_iter().map(Arc::new))).await?;
    let (wall, cpu) = watch.stop();
    ensure!(maps.len() == count, "received {} of {count} ConfigMaps", maps.len());
    Ok([(growth::FILL.into(), wall), (growth::FILL_CPU.into(), cpu)].into())
}

/// Gets and decodes one ConfigMap after the other over one connection.
pub(super) async fn get(connection: &mut Connection, requests: usize) -> anyhow::Result<Metrics> {
    let mut latencies = Vec::with_capacity(requests);
    run(connection, requests / 10, &mut latencies).await?;
    latencies.clear();
    let watch = Stopwatch::start();
    run(connection, requests, &mut latencies).await?;
    let (wall, cpu) = watch.stop();
    latencies.sort_unstable();
    let each = 1e3 / requests as f64;
    Ok([
        ("µs per request".into(), wall * each),
        ("µs CPU time per request".into(), cpu * each),
        ("µs p50".into(), latencies[requests / 2].as_secs_f64() * 1e6),
    ]
    .into())
}

async fn run(
    connection: &mut Connection,
    requests: usize,
    latencies: &mut Vec<Duration>,
) -> anyhow::Result<()> {
    for _ in 0..requests {
        let start = Instant::now();
        let body = connection.get("/api/v1/namespaces/default/configmaps/object-0").await?;
        let object: ConfigMap = serde_json::from_slice(&body)?;
        latencies.push(start.elapsed());
        ensure!(object.data.is_some(), "the object has no data");
    }
    Ok(())
}
