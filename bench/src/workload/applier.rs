//! The dispatch of a controller alone: keys are reconciled from a filled store, without a server.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;

use super::super::kube::runtime::controller::{self, applier};
use super::super::kube::runtime::reflector::{self, ObjectRef};
use super::super::kube::runtime::watcher::Event;
use super::reconciler::{Seen, on_error, reconcile};
use crate::measure::{self, Metrics, Stopwatch};
use crate::server::typed_config_map;

pub(super) async fn measure(count: usize, work_ms: u64) -> anyhow::Result<Metrics> {
    let seen = Arc::new(Seen::with_work(Duration::from_millis(work_ms)));
    let (store, mut writer) = reflector::store::<ConfigMap>();
    let mut keys = Vec::with_capacity(count);
    writer.apply_watcher_event(&Event::Init);
    for index in 0..count {
        let object = typed_config_map(index);
        keys.push(Ok::<_, Infallible>(ObjectRef::from_obj(&object)));
        writer.apply_watcher_event(&Event::InitApply(object));
    }
    writer.apply_watcher_event(&Event::InitDone);
    // As a controller's queue, this stream does not end.
    let keys = stream::iter(keys).chain(stream::pending());
    let reconcile = |object, seen| reconcile(object, seen).boxed();
    let watch = Stopwatch::start();
    let outcomes =
        applier(reconcile, on_error, Arc::clone(&seen), store, keys, controller::Config::default());
    let failed = outcomes.take(count).filter(|outcome| std::future::ready(outcome.is_err())).count().await;
    let (wall, cpu) = watch.stop();
    let done = seen.reconciles();
    anyhow::ensure!(failed == 0 && done == count, "{done} of {count} reconciled, {failed} errors");
    Ok([("ms".into(), wall), ("ms CPU time".into(), cpu), ("MiB peak RSS".into(), measure::peak_rss()?)]
        .into())
}
