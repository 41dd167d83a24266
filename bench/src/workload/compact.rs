//! A compact cache: its fill and relist, and reads of objects that were not used recently.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};

use super::super::kube::Client;
use super::super::kube::core::PartialObjectMeta;
use super::super::kube::runtime::reflector::{ObjectRef, Store};
use super::super::kube::runtime::watcher;
use super::super::{compact_cache, try_get};
use super::control;
use crate::case::Kind;
use crate::measure::{Metrics, Stopwatch};

/// The number of objects that are read.
const READS: usize = 4_000;

/// A cache of Pods: fill, relist and reads.
pub(super) async fn measure(client: Client, count: usize, streaming: bool) -> anyhow::Result<Metrics> {
    let config = watcher::Config::default();
    let config = if streaming { config.streaming_lists() } else { config };
    let (mut filled, mut metrics) = compact_cache::<Pod>(client.clone(), config).fill(&client, count).await?;
    metrics.extend(filled.relist(&client).await?);
    metrics.extend(read(&client, &filled.store, count).await?);
    Ok(metrics)
}

/// The fill of a cache.
pub(super) async fn fill(client: Client, count: usize, kind: Kind) -> anyhow::Result<Metrics> {
    let config = watcher::Config::default();
    let filling = client.clone();
    Ok(match kind {
        Kind::Pods => compact_cache::<Pod>(filling, config).fill(&client, count).await?.1,
        Kind::ConfigMaps => compact_cache::<ConfigMap>(filling, config).fill(&client, count).await?.1,
        Kind::Metadata => {
            compact_cache::<PartialObjectMeta<ConfigMap>>(filling, config).fill(&client, count).await?.1
        }
    })
}

/// Reads objects that are not decoded yet, in random order, each once, and decodes the same objects from their JSON.
async fn read(client: &Client, store: &Store<Pod>, count: usize) -> anyhow::Result<Metrics> {
    let mut indexes: Vec<usize> = (0..count).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut indexes);
    indexes.truncate(READS);
    let names: Vec<_> = indexes.iter().map(|index| format!("checkout-7c9d8f6b54-{index:05}")).collect();
    let mut bodies = Vec::new();
    for name in &names {
        bodies.push(control::pod(client, name).await?);
    }
    let keys = names.iter().map(|name| ObjectRef::<Pod>::new(name).within("default")).collect::<Vec<_>>();
    let reads = Stopwatch::start();
    for key in &keys {
        let pod = try_get(store, key)?;
        anyhow::ensure!(pod.is_some_and(|pod| pod.spec.is_some()), "{key} is not in the store");
    }
    let (_, reads) = reads.stop();
    let decodes = Stopwatch::start();
    for body in &bodies {
        let pod: Pod = serde_json::from_slice(body.as_bytes())?;
        anyhow::ensure!(pod.spec.is_some(), "a Pod without a spec");
    }
    let (_, decodes) = decodes.stop();
    let each = 1e3 / keys.len() as f64;
    Ok([
        ("µs CPU time per `get` of a cold object".into(), reads * each),
        ("`get` of a cold object ÷ plain decode".into(), reads / decodes),
    ]
    .into())
}
