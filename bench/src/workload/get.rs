//! Gets one ConfigMap of 1 KB repeatedly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;

use super::super::kube::{Api, Client};
use super::control;
use crate::measure::{Metrics, Stopwatch};

pub(super) async fn measure(client: Client, in_flight: usize, requests: usize) -> anyhow::Result<Metrics> {
    let mut metrics = requests_of(client.clone(), in_flight, requests).await?;
    metrics.insert("connections".into(), control::connections(&client).await?);
    Ok(metrics)
}

/// The time and CPU time of a request.
pub(super) async fn requests_of(
    client: Client,
    in_flight: usize,
    requests: usize,
) -> anyhow::Result<Metrics> {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    run(&api, in_flight, requests / 10).await?;
    let watch = Stopwatch::start();
    let mut latencies = run(&api, in_flight, requests).await?;
    let (wall, cpu) = watch.stop();
    latencies.sort_unstable();
    let percentile = |percent: usize| latencies[latencies.len() * percent / 100].as_secs_f64() * 1e6;
    let each = 1e3 / requests as f64;
    Ok([
        ("µs per request".into(), wall * each),
        ("µs CPU time per request".into(), cpu * each),
        ("µs p50".into(), percentile(50)),
        ("µs p99".into(), percentile(99)),
    ]
    .into())
}

/// Returns the time of each request.
async fn run(api: &Api<ConfigMap>, in_flight: usize, requests: usize) -> anyhow::Result<Vec<Duration>> {
    let left = Arc::new(AtomicUsize::new(requests));
    let workers: Vec<_> = (0..in_flight)
        .map(|_| {
            let (api, left) = (api.clone(), Arc::clone(&left));
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                while left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_ok()
                {
                    let start = Instant::now();
                    let object = api.get("object-0").await?;
                    latencies.push(start.elapsed());
                    anyhow::ensure!(object.data.is_some(), "the object has no data");
                }
                Ok(latencies)
            })
        })
        .collect();
    let mut latencies = Vec::with_capacity(requests);
    for worker in workers {
        latencies.extend(worker.await??);
    }
    Ok(latencies)
}
