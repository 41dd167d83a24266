//! One list of all Pods.

use k8s_openapi::api::core::v1::Pod;

use super::super::kube::Client;
use super::super::list;
use crate::measure::{self, Figures, Stopwatch};

pub(super) async fn measure(client: Client, count: usize, lean: bool) -> anyhow::Result<Figures> {
    // The connection is made before the clock runs.
    client.request_text(http::Request::get("/version").body(Vec::new())?).await?;
    let watch = Stopwatch::start()?;
    let pods: Vec<Pod> = list(client, lean).await?;
    let (wall, cpu) = watch.stop()?;
    anyhow::ensure!(pods.len() == count, "{} of {count} Pods came", pods.len());
    anyhow::ensure!(
        pods.iter().all(|pod| pod.metadata.managed_fields.is_none() == lean),
        "other fields than wanted"
    );
    Ok([("ms".into(), wall), ("ms of processor".into(), cpu), ("MiB at peak".into(), measure::peak()?)]
        .into())
}
