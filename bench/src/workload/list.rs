//! Lists all Pods once.

use k8s_openapi::api::core::v1::Pod;

use super::super::kube::Client;
use super::super::list;
use super::control;
use crate::measure::{self, Metrics, Stopwatch};

pub(super) async fn measure(client: Client, count: usize, pruned: bool) -> anyhow::Result<Metrics> {
    // Not measured: connecting.
    control::connect(&client).await?;
    let watch = Stopwatch::start();
    let pods: Vec<Pod> = list(client, pruned).await?;
    let (wall, cpu) = watch.stop();
    anyhow::ensure!(pods.len() == count, "received {} of {count} Pods", pods.len());
    anyhow::ensure!(
        pods.iter().all(|pod| pod.metadata.managed_fields.is_none() == pruned),
        "unexpected managedFields"
    );
    Ok([("ms".into(), wall), ("ms CPU time".into(), cpu), ("MiB peak RSS".into(), measure::peak_rss()?)]
        .into())
}
