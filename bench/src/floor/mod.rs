//! The smallest programs that do the measured work: hyper, rustls and serde_json on one thread, without a client, a cache or checks.
//! What a library takes beyond them is its own cost.

mod connection;
mod dispatch;
mod pruned;
mod reflector;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::{List, ListableResource};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::case::Floor;
use crate::growth;
use crate::measure::{self, Metrics, Stopwatch};
use connection::{Connection, ServerAddress};
use pruned::PrunedPod;

const PODS: &str = "/api/v1/namespaces/default/pods";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) fn measure(kubeconfig: &Path, count: usize, floor: Floor) -> anyhow::Result<Metrics> {
    // One thread: nothing is handed over.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let server = ServerAddress::read(kubeconfig)?;
        let mut connection = server.connect(floor.protocol()).await?;
        match floor {
            Floor::List => list(&mut connection, count).await,
            Floor::Watch { pruned: false } => watch::<Pod>(&mut connection, count).await,
            Floor::Watch { pruned: true } => watch::<PrunedPod>(&mut connection, count).await,
            Floor::Fill { streaming } => {
                let mut another = server.connect(floor.protocol()).await?;
                reflector::measure([&mut connection, &mut another], count, streaming).await
            }
            Floor::Dispatch { work_ms } => dispatch::measure(count, work_ms).await,
            Floor::Keep => keep(&mut connection, count).await,
            Floor::Get { requests, .. } => get(&mut connection, requests).await,
        }
    })
}

/// Keeps the Pods of a list.
async fn list(connection: &mut Connection, count: usize) -> anyhow::Result<Metrics> {
    let mut pods: Vec<Pod> = Vec::new();
    let watch = Stopwatch::start();
    each_page(connection, PODS, |page| pods.extend(page)).await?;
    let (_, cpu) = watch.stop();
    ensure!(pods.len() == count, "received {} of {count} Pods", pods.len());
    Ok([("ms CPU time".into(), cpu)].into())
}

/// Decodes the Pods of a watch and drops each.
async fn watch<K: DeserializeOwned>(connection: &mut Connection, count: usize) -> anyhow::Result<Metrics> {
    let watch = Stopwatch::start();
    each_event(connection, count, |pod: K| drop(black_box(pod))).await?;
    let (_, cpu) = watch.stop();
    let each = 1e3 / count as f64;
    Ok([("µs CPU time per event".into(), cpu * each), ("MiB peak RSS".into(), measure::peak_rss()?)].into())
}

/// Keeps ConfigMaps.
async fn keep(connection: &mut Connection, count: usize) -> anyhow::Result<Metrics> {
    let mut maps: Vec<Arc<ConfigMap>> = Vec::with_capacity(count);
    let watch = Stopwatch::start();
    each_page(connection, CONFIG_MAPS, |page| maps.extend(page.into_iter().map(Arc::new))).await?;
    let (wall, cpu) = watch.stop();
    ensure!(maps.len() == count, "received {} of {count} ConfigMaps", maps.len());
    Ok([(growth::FILL.into(), wall), (growth::FILL_CPU.into(), cpu)].into())
}

async fn each_page<K: DeserializeOwned + ListableResource>(
    connection: &mut Connection,
    collection: &str,
    mut keep: impl FnMut(Vec<K>),
) -> anyhow::Result<()> {
    let mut path = format!("{collection}?limit=500");
    loop {
        let page: List<K> = serde_json::from_slice(&connection.get(&path).await?)?;
        keep(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => path = format!("{collection}?limit=500&continue={token}"),
            None => return Ok(()),
        }
    }
}

async fn each_event<K: DeserializeOwned>(
    connection: &mut Connection,
    count: usize,
    mut keep: impl FnMut(K),
) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct Event<K> {
        object: K,
    }
    // A watch from version 1 makes the server send all objects as events.
    let mut body = connection.open(&format!("{PODS}?watch=true&resourceVersion=1")).await?;
    let (mut received, mut seen) = (Vec::new(), 0);
    while seen < count
        && let Some(frame) = body.frame().await
    {
        let Ok(data) = frame?.into_data() else { continue };
        received.extend_from_slice(&data);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &received) {
            let Event { object } = serde_json::from_slice(&received[start..end])?;
            keep(object);
            (start, seen) = (end + 1, seen + 1);
        }
        received.drain(..start);
    }
    ensure!(seen == count, "received {seen} of {count} events");
    Ok(())
}

/// Gets and decodes one ConfigMap after the other over one connection.
async fn get(connection: &mut Connection, requests: usize) -> anyhow::Result<Metrics> {
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
