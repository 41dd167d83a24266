//! A watch that delivers one event per Pod.

use std::pin::pin;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;

use super::super::kube::api::{WatchEvent, WatchParams};
use super::super::kube::{Api, Client};
use crate::measure::{self, Metrics, Stopwatch};

pub(super) async fn measure(client: Client, count: usize) -> anyhow::Result<Metrics> {
    let api: Api<Pod> = Api::default_namespaced(client);
    // A watch from version 1 makes the server send all objects as events.
    let mut events = pin!(api.watch(&WatchParams::default(), "1").await?);
    let watch = Stopwatch::start();
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
    Ok([
        ("µs per event".into(), wall * each),
        ("µs CPU time per event".into(), cpu * each),
        ("MiB peak RSS".into(), measure::peak_rss()?),
    ]
    .into())
}
