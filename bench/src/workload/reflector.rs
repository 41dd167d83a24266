//! Fills a store with all Pods, then makes the watch expire and measures the relist.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;

use super::super::kube::runtime::{WatchStreamExt, reflector, watcher};
use super::super::kube::{Api, Client};
use super::super::pruned_config;
use crate::measure::{self, Metrics, Stopwatch};

pub(super) async fn measure(
    client: Client,
    count: usize,
    pruned: bool,
    streaming: bool,
) -> anyhow::Result<Metrics> {
    client.request_text(http::Request::get("/version").body(Vec::new())?).await?;
    let api: Api<Pod> = Api::default_namespaced(client.clone());
    let lists = Arc::new(AtomicUsize::new(0));
    let (store, writer) = reflector::store();
    let watch = Stopwatch::start()?;
    let filling = tokio::spawn({
        let lists = Arc::clone(&lists);
        async move {
            let config = watcher::Config::default();
            let config = if streaming { config.streaming_lists() } else { config };
            let events = watcher(api, if pruned { pruned_config(config) } else { config }).default_backoff();
            let count_lists = move |event: Result<watcher::Event<Pod>, watcher::Error>| {
                if let Ok(watcher::Event::InitDone) = event {
                    lists.fetch_add(1, Ordering::SeqCst);
                }
                ready(())
            };
            if pruned {
                let events = events.modify(|pod| pod.metadata.managed_fields = None);
                reflector(writer, events).for_each(count_lists).await;
            } else {
                reflector(writer, events).for_each(count_lists).await;
            }
        }
    });
    store.wait_until_ready().await?;
    let (wall, cpu) = watch.stop()?;
    let fill_peak = measure::peak_rss()?;
    anyhow::ensure!(store.len() == count, "the store has {} of {count} Pods", store.len());
    let filled_rss = measure::rss()?;
    measure::reset_peak_rss()?;
    let relist = Stopwatch::start()?;
    client.request_text(http::Request::get("/bench/expire").body(Vec::new())?).await?;
    while lists.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (relist_wall, relist_cpu) = relist.stop()?;
    let relist_peak = measure::peak_rss()?;
    anyhow::ensure!(store.len() == count, "the store has {} of {count} Pods", store.len());
    filling.abort();
    Ok([
        ("ms to fill".into(), wall),
        ("ms CPU time to fill".into(), cpu),
        ("MiB RSS when filled".into(), filled_rss),
        ("MiB peak RSS while filling".into(), fill_peak),
        ("ms of the relist".into(), relist_wall),
        ("ms CPU time of the relist".into(), relist_cpu),
        ("peak RSS of the relist ÷ RSS when filled".into(), relist_peak / filled_rss),
    ]
    .into())
}
