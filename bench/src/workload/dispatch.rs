//! A controller that reconciles every ConfigMap once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;

use super::super::kube::runtime::controller::Action;
use super::super::kube::runtime::{Controller, watcher};
use super::super::kube::{Api, Client};
use crate::measure::{self, Metrics, Stopwatch};

#[derive(Debug)]
struct Never;

impl std::fmt::Display for Never {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("never")
    }
}

impl std::error::Error for Never {}

struct Context {
    work: Duration,
    done: AtomicUsize,
}

pub(super) async fn measure(client: Client, count: usize, work_ms: u64) -> anyhow::Result<Metrics> {
    client.request_text(http::Request::get("/version").body(Vec::new())?).await?;
    let context = Arc::new(Context { work: Duration::from_millis(work_ms), done: AtomicUsize::new(0) });
    let watch = Stopwatch::start()?;
    let outcomes = Controller::new(Api::<ConfigMap>::default_namespaced(client), watcher::Config::default())
        .run(reconcile, |_, _: &Never, _| Action::await_change(), Arc::clone(&context))
        .take(count);
    let failed = outcomes.filter(|outcome| std::future::ready(outcome.is_err())).count().await;
    let (wall, cpu) = watch.stop()?;
    let done = context.done.load(Ordering::SeqCst);
    anyhow::ensure!(failed == 0 && done == count, "{done} of {count} reconciled, {failed} errors");
    Ok([("ms".into(), wall), ("ms CPU time".into(), cpu), ("MiB peak RSS".into(), measure::peak_rss()?)]
        .into())
}

async fn reconcile(_object: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Never> {
    if !context.work.is_zero() {
        tokio::time::sleep(context.work).await;
    }
    context.done.fetch_add(1, Ordering::SeqCst);
    Ok(Action::await_change())
}
