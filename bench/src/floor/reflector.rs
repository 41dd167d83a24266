//! A store of Pods that is a hash map: its fill, and a relist in which no object has changed.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use anyhow::ensure;
use k8s_openapi::api::core::v1::Pod;

use super::collection::{PODS, each_event, each_page};
use super::connection::Connection;
use crate::growth;
use crate::measure::{self, Metrics, Stopwatch};

/// Each of the two has its own connection, because the watch of a streaming list does not end.
pub(super) async fn measure(
    [filling, relisting]: [&mut Connection; 2],
    count: usize,
    streaming: bool,
) -> anyhow::Result<Metrics> {
    let mut pods: Vec<Arc<Pod>> = Vec::with_capacity(count);
    let watch = Stopwatch::start();
    each_pod(filling, count, streaming, |pod| {
        // The copy is the one without spare capacity. The other one is for the stream of events, as the signature of `reflector` demands.
        pods.push(Arc::new(pod.clone()));
        drop(black_box(pod));
    })
    .await?;
    let (_, fill) = watch.stop();
    let filled = measure::rss()?;
    let store: HashMap<_, _> = pods.into_iter().map(|pod| (key(&pod), pod)).collect();
    ensure!(store.len() == count, "the store has {} of {count} Pods", store.len());

    let before = measure::rss()?;
    measure::reset_peak_rss()?;
    let (watch, mut unchanged) = (Stopwatch::start(), 0);
    each_pod(relisting, count, streaming, |pod| {
        let kept = store.get(&key(&pod));
        unchanged += usize::from(kept.is_some_and(|kept| is_same_state(kept, &pod)));
        drop(black_box(pod));
    })
    .await?;
    let (_, relist) = watch.stop();
    ensure!(unchanged == count, "{unchanged} of {count} Pods are unchanged");
    Ok([
        (growth::FILL_CPU.into(), fill),
        (growth::FILLED_RSS.into(), filled),
        ("ms CPU time of the relist".into(), relist),
        ("peak RSS of the relist ÷ RSS when filled".into(), measure::peak_rss()? / before),
    ]
    .into())
}

async fn each_pod(
    connection: &mut Connection,
    count: usize,
    streaming: bool,
    mut take: impl FnMut(Pod),
) -> anyhow::Result<()> {
    if streaming {
        each_event(connection, count, take).await
    } else {
        each_page(connection, PODS, |page| page.into_iter().for_each(&mut take)).await
    }
}

fn key(pod: &Pod) -> (Option<String>, Option<String>) {
    (pod.metadata.namespace.clone(), pod.metadata.name.clone())
}

fn is_same_state(kept: &Pod, listed: &Pod) -> bool {
    (&kept.metadata.uid, &kept.metadata.resource_version)
        == (&listed.metadata.uid, &listed.metadata.resource_version)
}
