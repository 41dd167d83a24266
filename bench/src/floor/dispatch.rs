//! The dispatch of keys with a queue that is a set, and a store that is a hash map.

use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::measure::{self, Metrics, Stopwatch};
use crate::server::typed_config_map;

/// Namespace and name.
type Key = (String, String);

/// Reconciles each key once, none twice at the same time.
pub(super) async fn measure(count: usize, work_ms: u64) -> anyhow::Result<Metrics> {
    let work = Duration::from_millis(work_ms);
    let (mut store, mut keys) = (HashMap::new(), Vec::with_capacity(count));
    for object in (0..count).map(typed_config_map) {
        let key = (object.metadata.namespace.clone().unwrap(), object.metadata.name.clone().unwrap());
        keys.push(key.clone());
        store.insert(key, Arc::new(object));
    }
    let watch = Stopwatch::start();
    let (mut in_flight, mut reconciles, mut done) = (HashSet::new(), FuturesUnordered::new(), 0);
    for key in keys {
        if let Some(object) = store.get(&key)
            && in_flight.insert(key.clone())
        {
            reconciles.push(reconcile(key, Arc::clone(object), work));
        }
        while let Some(Some(key)) = reconciles.next().now_or_never() {
            done += usize::from(in_flight.remove(&key));
        }
    }
    while let Some(key) = reconciles.next().await {
        done += usize::from(in_flight.remove(&key));
    }
    let (wall, cpu) = watch.stop();
    ensure!(done == count, "{done} of {count} reconciled");
    Ok([("ms".into(), wall), ("ms CPU time".into(), cpu), ("MiB peak RSS".into(), measure::peak_rss()?)]
        .into())
}

fn reconcile(key: Key, object: Arc<ConfigMap>, work: Duration) -> BoxFuture<'static, Key> {
    async move {
        if !work.is_zero() {
            // tokio's budget of a task would end most polls without a result, because one task polls all of them.
            tokio::task::unconstrained(tokio::time::sleep(work)).await;
        }
        drop(black_box(object));
        key
    }
    .boxed()
}
