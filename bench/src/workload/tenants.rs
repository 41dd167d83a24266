//! Many tenants share ten workers, and one of them changes 1000 objects a second, which is more than the workers can do.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{FutureExt, Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

use super::super::kube::runtime::controller::{Action, applier};
use super::super::kube::runtime::reflector::{self, ObjectRef};
use super::super::kube::runtime::watcher::Event;
use super::super::tenants_config;
use crate::measure::{Metrics, Stopwatch};
use crate::server::typed_config_map;

const WORK: Duration = Duration::from_millis(10);
const TIME: Duration = Duration::from_secs(10);
/// The objects of the noisy tenant, each of which changes once a second.
const NOISY: u32 = 1000;
/// The changes of all other tenants together, in a second.
const OTHERS: u32 = 300;

/// When the waiting change of each object of the others came, and how long their reconciles waited and ran, in milliseconds.
#[derive(Default)]
struct Seen {
    changed: Mutex<HashMap<String, Instant>>,
    latencies: Mutex<Vec<f64>>,
}

fn object(namespace: &str, index: usize) -> ConfigMap {
    let mut object = typed_config_map(index);
    object.metadata.namespace = Some(namespace.to_owned());
    object
}

pub(super) async fn measure(tenants: usize) -> anyhow::Result<Metrics> {
    let (store, mut writer) = reflector::store::<ConfigMap>();
    let noisy: Vec<_> = (0..NOISY as usize).map(|index| object("noisy", index)).collect();
    let others: Vec<_> = (0..tenants).map(|tenant| object(&format!("tenant-{tenant}"), 0)).collect();
    writer.apply_watcher_event(&Event::Init);
    for object in noisy.iter().chain(&others) {
        writer.apply_watcher_event(&Event::InitApply(object.clone()));
    }
    writer.apply_watcher_event(&Event::InitDone);
    let seen = Arc::new(Seen::default());
    let changed = Arc::clone(&seen);
    let of_others = changes(&others, OTHERS).inspect(move |key| {
        let namespace = key.namespace.clone().unwrap_or_default();
        changed.changed.lock().entry(namespace).or_insert_with(Instant::now);
    });
    let requests = stream::select(changes(&noisy, NOISY), of_others).map(Ok::<_, Infallible>);
    let reconcile = |object: Arc<ConfigMap>, seen: Arc<Seen>| {
        async move {
            tokio::time::sleep(WORK).await;
            let namespace = object.metadata.namespace.clone().unwrap_or_default();
            let changed = seen.changed.lock().remove(&namespace);
            seen.latencies.lock().extend(changed.map(|changed| changed.elapsed().as_secs_f64() * 1e3));
            Ok::<_, Infallible>(Action::await_change())
        }
        .boxed()
    };
    let watch = Stopwatch::start();
    let on_error = |_, error: &Infallible, _| match *error {};
    let outcomes = applier(reconcile, on_error, Arc::clone(&seen), store, requests, tenants_config());
    let _ended = tokio::time::timeout(TIME, outcomes.count()).await;
    let (_, cpu) = watch.stop();
    let mut latencies = seen.latencies.lock().clone();
    latencies.sort_unstable_by(f64::total_cmp);
    anyhow::ensure!(
        latencies.len() > OTHERS as usize,
        "only {} changes of the others were reconciled",
        latencies.len()
    );
    let p99 = latencies[latencies.len() * 99 / 100];
    Ok([("ms p99 of the others".into(), p99), ("ms CPU time".into(), cpu)].into())
}

/// So many changes a second, of one object after the other.
fn changes(objects: &[ConfigMap], a_second: u32) -> impl Stream<Item = ObjectRef<ConfigMap>> + use<> {
    let keys: Vec<_> = objects.iter().map(ObjectRef::from_obj).collect();
    let mut keys = keys.into_iter().cycle();
    let mut timer = tokio::time::interval(Duration::from_secs(1) / a_second);
    stream::poll_fn(move |cx| timer.poll_tick(cx).map(|_| keys.next()))
}
