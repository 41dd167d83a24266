//! The relist of a controller of Pods in which no object has changed.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;

use super::super::controller_of_changes;
use super::super::kube::runtime::{Controller, watcher};
use super::super::kube::{Api, Client};
use super::control;
use super::reconciler::Seen;
use super::running::run;
use crate::case::Reconciles;
use crate::measure::{self, Metrics, Stopwatch, millis_between, unix_nanos};

/// After which no reconcile is expected any more.
const SETTLED: Duration = Duration::from_millis(300);

pub(super) async fn measure(client: Client, count: usize, reconciles: Reconciles) -> anyhow::Result<Metrics> {
    control::connect(&client).await?;
    let seen = Arc::new(Seen::default());
    let pods = Api::<Pod>::default_namespaced(client.clone());
    let running = match reconciles {
        Reconciles::All => run(Controller::new(pods, watcher::Config::default()), &seen),
        Reconciles::Changes { cache, streaming } => {
            let config = watcher::Config::default();
            let config = if streaming { config.streaming_lists() } else { config };
            run(controller_of_changes(pods, config, cache), &seen)
        }
    };
    seen.wait_for_reconciles(count).await?;
    tokio::time::sleep(SETTLED).await;
    let (before, rss) = (seen.reconciles(), measure::rss()?);
    measure::reset_peak_rss()?;

    let relist = Stopwatch::start();
    control::expire(&client).await?;
    let (end, after_end, changes) = if reconciles == Reconciles::All {
        seen.wait_for_reconciles(before + count).await?;
        (unix_nanos(), 0.0, 0)
    } else {
        // The change follows the list, so its reconcile shows that the relist is done.
        let changed_at = control::change(&client, 1, 1).await?;
        let latencies = seen.wait_for_change(changed_at).await?;
        (changed_at, latencies[0], 1)
    };
    let (_, cpu) = relist.stop();
    let peak = measure::peak_rss()?;
    let wall = millis_between(control::listed_at(&client).await?, end) + after_end;
    tokio::time::sleep(SETTLED).await;
    let caused = seen.reconciles() - before - changes;
    running.abort();
    Ok([
        ("ms of the relist".into(), wall),
        ("ms CPU time of the relist".into(), cpu),
        ("reconciles caused by the relist".into(), caused as f64),
        ("peak RSS of the relist ÷ RSS before".into(), peak / rss),
    ]
    .into())
}
