//! The queue of a controller: which objects to reconcile, and when. It debounces, delays retries, holds objects back until the store
//! shows the last write to them, and knows the lanes of objects.

use crate::{
    controller::{
        config::Config,
        lanes::{LaneName, Lanes},
        observe::LaneSample,
        reconcile::{ParkedRequest, PendingWrites, ReconcileReason, Requeue},
        scope::WritesShown,
    },
    delay::after,
    queue::{KeyBackoff, Priority, Queue, QueueNumbers},
    reflector::{ObjectKey, store::Store},
};
use fastrand::Rng;
use hashbrown::HashMap;
use kube_core::Resource;
use std::{
    hash::Hash,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Instant;

/// How often all lanes are looked at for monitors and metrics, at most.
const LANE_SAMPLES: Duration = Duration::from_millis(200);

/// See [`Queue`], [`KeyBackoff`] and [`PendingWrites`].
pub(super) struct WorkQueue<K: Resource<DynamicType: Eq + Hash> + 'static> {
    queue: Queue<Arc<ObjectKey>, ReconcileReason, LaneName>,
    lanes: Lanes<K>,
    /// Until the first list is complete: requests for objects that it has not brought yet, so that their lanes are not known.
    early: Option<HashMap<ObjectKey, ParkedRequest>>,
    /// When the lanes were looked at last, while anything is due.
    sampled: Option<Instant>,
    /// When to look at them again, because something has changed since.
    resample: Option<Instant>,
    backoff: KeyBackoff<Arc<ObjectKey>>,
    pending_writes: PendingWrites,
    debounce: Duration,
    /// Whether no request comes from outside any more. Then nothing is queued again, so that the queue becomes empty.
    closed: bool,
}

impl<K: Resource<DynamicType: Eq + Hash + Clone> + Clone + 'static> WorkQueue<K> {
    /// `store` has the objects.
    pub(super) fn new(config: &Config, store: Store<K>) -> Self {
        Self {
            queue: match &config.fair_by {
                None => Queue::new(config.concurrency),
                Some(_) => Queue::fair(config.concurrency, config.lane_concurrency),
            },
            lanes: Lanes::new(config.fair_by.clone(), store),
            early: Some(HashMap::new()),
            sampled: None,
            resample: None,
            backoff: KeyBackoff::new(config.retry_backoff, Rng::new()),
            pending_writes: PendingWrites::new(config.max_write_wait()),
            debounce: config.debounce,
            closed: false,
        }
    }

    /// Requests a reconcile after the debounce.
    pub(super) fn push(&mut self, key: ObjectKey, reason: ReconcileReason, priority: Priority) {
        if let Some(early) = &mut self.early
            && self.lanes.needs(&key)
        {
            early.entry(key).or_insert(ParkedRequest { reason, priority });
            return;
        }
        self.push_since(Arc::new(key), reason, priority, Instant::now());
    }

    /// The first list is complete: the store has the objects of all requests, unless they do not exist.
    pub(super) fn listed(&mut self) {
        let mut early: Vec<_> = self.early.take().into_iter().flatten().collect();
        early.sort_unstable_by(|(one, _), (other, _)| one.cmp(other)); // simulations are reproducible
        for (key, ParkedRequest { reason, priority }) in early {
            self.push(key, reason, priority);
        }
    }

    /// Like [`push`](Self::push), for a trigger that came at this time.
    pub(super) fn push_since(
        &mut self,
        key: Arc<ObjectKey>,
        reason: ReconcileReason,
        priority: Priority,
        since: Instant,
    ) {
        self.push_at(key, reason, after(since, self.debounce), priority, Instant::now());
    }

    /// Whether an object is due, so that [`start`](Self::start) may return one.
    pub(super) fn has_due(&mut self, now: Instant) -> bool {
        self.queue.has_due(now)
    }

    /// Takes the next object that is due. It is not taken again before [`finish`](Self::finish) or another method that ends its turn.
    pub(super) fn start(&mut self, now: Instant) -> Option<(Arc<ObjectKey>, ReconcileReason)> {
        loop {
            let (key, reason) = self.queue.start(now)?;
            if let Some(reason) = self.pending_writes.park(&key, reason) {
                return Some((key, reason));
            }
            self.queue.finish(&key, now);
        }
    }

    /// The turn of an object that is not to be reconciled ends, and its failures are forgotten.
    pub(super) fn drop_started(&mut self, key: &Arc<ObjectKey>, now: Instant) {
        self.queue.finish(key, now);
        self.backoff.forget(key);
    }

    /// The turn of an object ends: its request is one for the object with the key `instead`.
    pub(super) fn replace_started(
        &mut self,
        key: &Arc<ObjectKey>,
        instead: ObjectKey,
        reason: ReconcileReason,
        now: Instant,
    ) {
        self.queue.finish(key, now);
        let priority = reason.priority();
        self.push_at(Arc::new(instead), reason, now, priority, now);
    }

    /// The turn of an object ends with its reconcile. It is queued again after `delay`, if there is one.
    pub(super) fn finish(&mut self, key: &Arc<ObjectKey>, delay: Option<Duration>, reason: ReconcileReason) {
        let now = Instant::now();
        if let Some(delay) = delay {
            let due = after(now, delay);
            let priority = reason.priority();
            self.push_at(Arc::clone(key), reason, due, priority, now);
        }
        self.queue.finish(key, now);
    }

    /// The delay until the next reconcile, if one was asked for and the queue is not closed. Counts or forgets the failures of the object
    /// with this key and uid.
    pub(super) fn next_delay(
        &mut self,
        key: &Arc<ObjectKey>,
        uid: Option<&str>,
        requeue: Requeue,
    ) -> Option<Duration> {
        let delay = if requeue == Requeue::WithBackoff {
            self.backoff.next_delay(Arc::clone(key), uid)
        } else {
            self.backoff.forget(key);
            let Requeue::After(delay) = requeue else { return None };
            delay
        };
        (!self.closed).then(|| delay.max(self.debounce))
    }

    /// 1, and one more for each failure in a row.
    pub(super) fn attempt(&self, key: &Arc<ObjectKey>, uid: Option<&str>) -> u32 {
        self.backoff.failures(key, uid).saturating_add(1)
    }

    /// Holds the object back until everything is shown.
    pub(super) fn hold(&mut self, key: &Arc<ObjectKey>, shown: WritesShown) {
        self.pending_writes.add(key, shown);
    }

    /// Ready when an object is not held back any more. A request for it, if there was one, is queued.
    pub(super) fn poll_released(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (key, parked) = ready!(self.pending_writes.poll_visible(cx));
        if let Some(ParkedRequest { reason, priority }) = parked {
            let now = Instant::now();
            self.push_at(key, reason, now, priority, now);
        }
        Poll::Ready(())
    }

    /// No request comes from outside any more: pending ones are still reconciled, but requeues are dropped.
    pub(super) fn close(&mut self) {
        self.closed = true;
        // A requeue that is due first keeps its reason when a trigger's request joins it: then only the priority shows the trigger.
        self.queue.retain_waiting(|reason, priority| !reason.is_internal() || priority == Priority::Change);
        self.pending_writes.retain(|reason| !reason.is_internal());
    }

    /// Whether nothing waits or runs, and no request is held back.
    pub(super) fn is_empty(&self) -> bool {
        let none_early = self.early.as_ref().is_none_or(HashMap::is_empty);
        self.queue.is_empty() && none_early && !self.pending_writes.has_parked()
    }

    /// When to call [`start`](Self::start), or [`numbers`](Self::numbers), again.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.queue.next_due().into_iter().chain(self.resample).min()
    }

    /// The numbers of the queue, and of its lanes if they were not looked at for a while.
    pub(super) fn numbers(&mut self) -> (QueueNumbers, Option<LaneSample>) {
        let numbers = self.queue.numbers();
        let lanes = self.queue.lanes().and_then(|lanes| {
            let (now, none_due) = (Instant::now(), numbers.changes + numbers.background == 0);
            self.resample = None;
            if none_due {
                return self.sampled.take().map(|_| LaneSample::default());
            }
            if let Some(again) = self.sampled.map(|at| after(at, LANE_SAMPLES)).filter(|again| *again > now) {
                self.resample = Some(again);
                return None;
            }
            self.sampled = Some(now);
            Some(LaneSample::of(lanes, |key| self.queue.due_since(key)))
        });
        (numbers, lanes)
    }

    /// How long the object that was started last had been due.
    pub(super) fn last_wait(&self) -> Duration {
        self.queue.last_wait()
    }

    fn push_at(
        &mut self,
        key: Arc<ObjectKey>,
        reason: ReconcileReason,
        due: Instant,
        priority: Priority,
        now: Instant,
    ) {
        let lanes = &self.lanes;
        self.queue.push_in(|key| lanes.of(key), key, reason, due, priority, now);
    }
}
