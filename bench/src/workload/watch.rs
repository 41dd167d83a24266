//! A watch that delivers one event per Pod.

use std::pin::pin;

use futures::TryStreamExt;

use super::super::kube::Client;
use super::super::kube::api::{WatchEvent, WatchParams};
use super::super::{drop_managed_fields, pods};
use crate::measure::{self, Metrics, Stopwatch};

pub(super) async fn measure(client: Client, count: usize, pruned: bool) -> anyhow::Result<Metrics> {
    let api = pods(client, pruned);
    // A watch from version 1 makes the server send all objects as events.
    let mut events = pin!(api.watch(&WatchParams::default(), "1").await?);
    let watch = Stopwatch::start();
    let mut seen = 0;
    while seen < count
        && let Some(event) = events.try_next().await?
    {
        let WatchEvent::Added(mut pod) = event else { anyhow::bail!("expected only ADDED events") };
        if pruned {
            drop_managed_fields(&mut pod);
        }
        anyhow::ensure!(pod.metadata.managed_fields.is_none() == pruned, "unexpected managedFields");
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
