//! The reconciler of the measured controllers.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::super::kube::Resource;
use super::super::kube::runtime::controller::Action;
use crate::case::CHANGED_AT;
use crate::measure::{millis_between, unix_nanos};

/// Longer than any measurement takes: a hang is an error.
const LIMIT: Duration = Duration::from_secs(900);

/// What the reconciler has seen.
#[derive(Default)]
pub(super) struct Seen {
    work: Duration,
    reconciles: AtomicUsize,
    /// How many reconciles are waited for.
    awaited: AtomicUsize,
    /// Notified when that many have ended.
    reached: Notify,
    /// The time of the newest change.
    changed_at: AtomicU64,
    /// From each change to the start of its reconcile, in milliseconds.
    latencies: Mutex<Vec<f64>>,
}

impl Seen {
    /// `work`: the duration of a reconcile.
    pub(super) fn with_work(work: Duration) -> Self {
        Self { work, ..Self::default() }
    }

    pub(super) fn reconciles(&self) -> usize {
        self.reconciles.load(Ordering::SeqCst)
    }

    /// Waits until this many objects have been reconciled.
    pub(super) async fn wait_for_reconciles(&self, count: usize) -> anyhow::Result<()> {
        self.awaited.store(count, Ordering::SeqCst);
        let waiting = async {
            while self.reconciles() < count {
                self.reached.notified().await;
            }
        };
        let waited = tokio::time::timeout(LIMIT, waiting).await;
        waited.with_context(|| format!("{} of {count} reconciled", self.reconciles()))
    }

    /// Waits until the change of this time has been reconciled. Returns the sorted latencies of all changes so far.
    pub(super) async fn wait_for_change(&self, changed_at: u64) -> anyhow::Result<Vec<f64>> {
        let waiting = async {
            while self.changed_at.load(Ordering::SeqCst) < changed_at {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LIMIT, waiting).await.context("a change was not reconciled")?;
        let mut latencies = self.latencies.lock().clone();
        latencies.sort_unstable_by(f64::total_cmp);
        Ok(latencies)
    }
}

pub(super) async fn reconcile<K: Resource>(object: Arc<K>, seen: Arc<Seen>) -> Result<Action, Infallible> {
    let changed_at = object.meta().annotations.as_ref().and_then(|annotations| annotations.get(CHANGED_AT));
    if let Some(changed_at) = changed_at.and_then(|nanos| nanos.parse().ok()) {
        let latency = millis_between(changed_at, unix_nanos());
        seen.latencies.lock().push(latency);
        seen.changed_at.fetch_max(changed_at, Ordering::SeqCst);
    }
    if !seen.work.is_zero() {
        tokio::time::sleep(seen.work).await;
    }
    let reconciles = seen.reconciles.fetch_add(1, Ordering::SeqCst) + 1;
    if reconciles == seen.awaited.load(Ordering::SeqCst) {
        seen.reached.notify_one();
    }
    Ok(Action::await_change())
}

pub(super) fn on_error<K>(_object: Arc<K>, error: &Infallible, _seen: Arc<Seen>) -> Action {
    match *error {}
}
