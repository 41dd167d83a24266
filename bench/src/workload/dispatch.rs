//! A controller that reconciles every ConfigMap once.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;

use super::super::kube::runtime::{Controller, watcher};
use super::super::kube::{Api, Client};
use super::control;
use super::reconciler::{Seen, on_error, reconcile};
use crate::measure::{self, Metrics, Stopwatch};

pub(super) async fn measure(client: Client, count: usize, work_ms: u64) -> anyhow::Result<Metrics> {
    control::connect(&client).await?;
    let seen = Arc::new(Seen::with_work(Duration::from_millis(work_ms)));
    let watch = Stopwatch::start();
    let outcomes = Controller::new(Api::<ConfigMap>::default_namespaced(client), watcher::Config::default())
        .run(reconcile, on_error, Arc::clone(&seen))
        .take(count);
    let failed = outcomes.filter(|outcome| std::future::ready(outcome.is_err())).count().await;
    let (wall, cpu) = watch.stop();
    let done = seen.reconciles();
    anyhow::ensure!(failed == 0 && done == count, "{done} of {count} reconciled, {failed} errors");
    Ok([("ms".into(), wall), ("ms CPU time".into(), cpu), ("MiB peak RSS".into(), measure::peak_rss()?)]
        .into())
}
