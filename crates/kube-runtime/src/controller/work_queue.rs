//! The queue of a controller, with the delays of objects whose reconciles fail. Not generic, so that it is compiled once, in this crate, and
//! not in each program.

use super::{config::Config, request::ReconcileReason};
use crate::{
    queue::{KeyBackoff, Priority, Queue, QueueNumbers},
    reflector::ObjectKey,
};
use fastrand::Rng;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// See [`Queue`] and [`KeyBackoff`].
pub(super) struct WorkQueue {
    queue: Queue<Arc<ObjectKey>, ReconcileReason>,
    backoff: KeyBackoff<Arc<ObjectKey>>,
}

impl WorkQueue {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            queue: Queue::new(config.concurrency),
            backoff: KeyBackoff::new(config.retry_backoff, Rng::new()),
        }
    }

    pub(super) fn push(
        &mut self,
        key: Arc<ObjectKey>,
        reason: ReconcileReason,
        due: Instant,
        priority: Priority,
        now: Instant,
    ) {
        self.queue.push(key, reason, due, priority, now);
    }

    pub(super) fn start(&mut self, now: Instant) -> Option<(Arc<ObjectKey>, ReconcileReason)> {
        self.queue.start(now)
    }

    pub(super) fn finish(&mut self, key: &Arc<ObjectKey>, now: Instant) {
        self.queue.finish(key, now);
    }

    /// Removes the requeues that no trigger has joined.
    pub(super) fn drop_requeues(&mut self) {
        // A requeue that is due first keeps its reason when a trigger's request joins it: then only the priority shows the trigger.
        self.queue.retain_waiting(|reason, priority| !reason.is_internal() || priority == Priority::Change);
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.queue.next_due()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn numbers(&self) -> QueueNumbers {
        self.queue.numbers()
    }

    /// How long the key that was started last had been due.
    pub(super) fn last_wait(&self) -> Duration {
        self.queue.last_wait()
    }

    /// The delay after one more failure of `key`.
    pub(super) fn next_delay(&mut self, key: &Arc<ObjectKey>) -> Duration {
        self.backoff.next_delay(Arc::clone(key))
    }

    /// How often `key` has failed in a row.
    pub(super) fn failures(&self, key: &Arc<ObjectKey>) -> u32 {
        self.backoff.failures(key)
    }

    /// Resets the delay of `key`.
    pub(super) fn forget(&mut self, key: &Arc<ObjectKey>) {
        self.backoff.forget(key);
    }
}
