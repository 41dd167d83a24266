//! A controller on a cluster while the labels of that match.

use crate::clusters::{Cluster, Look, RunWork, Work, WorkResult};
use futures::{FutureExt, future::pending};
use kube_core::{Selector, SelectorExt};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{sync::watch, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Runs the controller that `make` returns while the labels of the cluster match all selectors, each time another one. The first is made at
/// once if they do. Reconciles that do not end within `limit` when the labels do not match any more are aborted.
pub(super) fn while_selected(
    name: Arc<str>,
    cluster: &Cluster,
    selectors: Arc<[Selector]>,
    limit: Duration,
    make: impl Fn() -> Work + Send + Sync + 'static,
) -> Work {
    let (shown, labels) = (Shown::default(), cluster.watch_labels());
    let next = match_all(&selectors, &cluster.labels()).then(|| shown.begin(make()));
    let selected =
        Selected { name: Arc::clone(&name), shown: shown.clone(), labels, selectors, limit, make, next };
    let run = move |stop, reconciles: &TaskTracker| selected.run(stop, reconciles.clone()).boxed();
    Work { name, look: Box::new(move || shown.look()), run: Box::new(run) }
}

type Labels = Arc<BTreeMap<String, String>>;

struct Selected<F> {
    name: Arc<str>,
    shown: Shown,
    labels: watch::Receiver<Labels>,
    selectors: Arc<[Selector]>,
    limit: Duration,
    make: F,
    /// The controller that was made and does not run yet.
    next: Option<RunWork>,
}

impl<F: Fn() -> Work> Selected<F> {
    async fn run(self, stop: CancellationToken, reconciles: TaskTracker) -> WorkResult {
        let Self { name, shown, mut labels, selectors, limit, make, mut next } = self;
        loop {
            if next.is_none() {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return Ok(()),
                    () = until(&mut labels, |labels| match_all(&selectors, labels)) => {}
                }
            }
            let run = next.take().unwrap_or_else(|| shown.begin(make()));
            let ends = stop.child_token();
            let mut running = run(ends.clone(), &reconciles);
            let result = tokio::select! {
                // It was told to stop, or should not have ended: the cluster decides what follows.
                result = &mut running => return result,
                () = until(&mut labels, |labels| !match_all(&selectors, labels)) => {
                    ends.cancel();
                    timeout(limit, running).await
                }
            };
            match result {
                Ok(result) => result?,
                Err(_) => {
                    tracing::warn!(%name, "its reconciles did not stop within the grace period and are aborted");
                    reconciles.close();
                    reconciles.wait().await; // what blocks its thread goes on
                }
            }
            shown.end();
        }
    }
}

/// How the present controller is: in sync if there is none. Clones are the same.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Option<Shows>>>);

type Shows = Box<dyn Fn() -> Look + Send + Sync>;

impl Shown {
    /// This is the controller from now on. Returns what runs it.
    fn begin(&self, work: Work) -> RunWork {
        *self.0.lock() = Some(work.look);
        work.run
    }

    fn end(&self) {
        *self.0.lock() = None;
    }

    fn look(&self) -> Look {
        self.0.lock().as_ref().map_or(Look { synced: true, fault: None }, |look| look())
    }
}

fn match_all(selectors: &[Selector], labels: &Labels) -> bool {
    selectors.iter().all(|selector| selector.matches(labels))
}

/// Completes when the labels are such.
async fn until(labels: &mut watch::Receiver<Labels>, are_such: impl Fn(&Labels) -> bool) {
    let is_closed = labels.wait_for(are_such).await.is_err();
    if is_closed {
        pending::<()>().await; // the cluster is gone, and what runs on it is told to stop
    }
}
