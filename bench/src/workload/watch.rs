//! One watch with an event for each Pod.

use std::pin::pin;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;

use super::super::kube::api::{WatchEvent, WatchParams};
use super::super::kube::{Api, Client};
use crate::measure::{self, Figures, Stopwatch};

pub(super) async fn measure(client: Client, count: usize) -> anyhow::Result<Figures> {
    let api: Api<Pod> = Api::default_namespaced(client);
    // The server replays all objects to whoever watches from version 1.
    let mut events = pin!(api.watch(&WatchParams::default(), "1").await?);
    let watch = Stopwatch::start()?;
    let mut seen = 0;
    while seen < count
        && let Some(event) = events.try_next().await?
    {
        anyhow::ensure!(matches!(event, WatchEvent::Added(_)), "another event than ADDED");
        seen += 1;
    }
    let (wall, cpu) = watch.stop()?;
    anyhow::ensure!(seen == count, "{seen} of {count} events came");
    let each = 1e3 / count as f64;
    Ok([
        ("µs per event".into(), wall * each),
        ("µs of processor per event".into(), cpu * each),
        ("MiB at peak".into(), measure::peak()?),
    ]
    .into())
}
