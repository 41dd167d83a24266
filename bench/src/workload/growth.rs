//! A controller of ConfigMaps from its start to its changes: the costs that depend on the number of objects.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;

use super::super::kube::runtime::{Controller, watcher};
use super::super::kube::{Api, Client};
use super::control;
use super::reconciler::Seen;
use super::running::run;
use crate::growth;
use crate::measure::{self, Metrics, Stopwatch, millis_between, unix_nanos};

const CHANGES: usize = 5_000;
const CHANGES_PER_SECOND: usize = 1_000;

/// If a step fails, the error is printed, and the metrics are those of the steps before it.
pub(super) async fn measure(client: Client, count: usize) -> anyhow::Result<Metrics> {
    let mut metrics = Metrics::new();
    if let Err(error) = steps(&client, count, &mut metrics).await {
        eprintln!("{count} objects: {error:#}");
    }
    Ok(metrics)
}

async fn steps(client: &Client, count: usize, metrics: &mut Metrics) -> anyhow::Result<()> {
    control::connect(client).await?;
    let seen = Arc::new(Seen::default());
    // The reconciles begin while the end of the fill is noticed, so that both are measured from the start.
    let (fill, dispatch) = (Stopwatch::start(), Stopwatch::start());
    let maps = Api::<ConfigMap>::default_namespaced(client.clone());
    let controller = Controller::new(maps, watcher::Config::default());
    let store = controller.store();
    let running = run(controller, &seen);
    // Not `wait_until_ready`: with kube 5.0.0 it did not return for the store of a running controller.
    while store.len() < count {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (fill_wall, fill_cpu) = fill.stop();
    metrics.extend([(growth::FILL.into(), fill_wall), (growth::FILL_CPU.into(), fill_cpu)]);

    seen.wait_for_reconciles(count).await?;
    let (dispatch_wall, dispatch_cpu) = dispatch.stop();
    anyhow::ensure!(store.len() == count, "the store has {} of {count} ConfigMaps", store.len());
    metrics.extend([
        (growth::DISPATCH.into(), dispatch_wall),
        (growth::DISPATCH_CPU.into(), dispatch_cpu),
        (growth::RSS.into(), measure::rss()?),
    ]);

    measure::reset_peak_rss()?;
    let relist = Stopwatch::start();
    control::expire(client).await?;
    seen.wait_for_reconciles(2 * count).await?;
    let (relisted_at, (_, relist_cpu)) = (unix_nanos(), relist.stop());
    let relist_peak = measure::peak_rss()?;
    let relist_wall = millis_between(control::listed_at(client).await?, relisted_at);
    anyhow::ensure!(store.len() == count, "the store has {} of {count} ConfigMaps", store.len());
    metrics.extend([
        (growth::RELIST.into(), relist_wall),
        (growth::RELIST_CPU.into(), relist_cpu),
        (growth::RELIST_PEAK.into(), relist_peak),
    ]);

    // Whatever the relist has left to do is done before the changes.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let last = control::change(client, CHANGES, CHANGES_PER_SECOND).await?;
    let latencies = seen.wait_for_change(last).await?;
    let percentile = |percent: usize| latencies[latencies.len() * percent / 100];
    running.abort();
    metrics.extend([(growth::P50.into(), percentile(50)), (growth::P99.into(), percentile(99))]);
    Ok(())
}
