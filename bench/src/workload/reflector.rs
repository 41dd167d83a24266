//! Fills a store with all Pods, then makes the watch expire and measures the relist.

use std::future::ready;

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::watch;

use super::super::kube::runtime::{WatchStreamExt, reflector, watcher};
use super::super::kube::{Api, Client};
use super::super::pruned_config;
use super::cache::Cache;
use crate::measure::Metrics;

pub(super) async fn measure(
    client: Client,
    count: usize,
    pruned: bool,
    streaming: bool,
) -> anyhow::Result<Metrics> {
    let (mut filled, mut metrics) = cache(client.clone(), pruned, streaming).fill(&client, count).await?;
    metrics.extend(filled.relist(&client).await?);
    Ok(metrics)
}

fn cache(client: Client, pruned: bool, streaming: bool) -> Cache<Pod> {
    let api: Api<Pod> = Api::default_namespaced(client);
    let config = watcher::Config::default();
    let config = if streaming { config.streaming_lists() } else { config };
    let events = watcher(api, if pruned { pruned_config(config) } else { config }).default_backoff();
    let (store, writer) = reflector::store();
    let (completed, lists) = watch::channel(0);
    let count_lists = move |event: Result<watcher::Event<Pod>, watcher::Error>| {
        if let Ok(watcher::Event::InitDone) = event {
            completed.send_modify(|lists| *lists += 1);
        }
        ready(())
    };
    let filling = if pruned {
        let events = events.modify(|pod| pod.metadata.managed_fields = None);
        reflector(writer, events).for_each(count_lists).boxed()
    } else {
        reflector(writer, events).for_each(count_lists).boxed()
    };
    Cache { store, filling, lists }
}
