//! Working through the queue: the shell around the queue machine.

use super::{
    Action, Config, Error as ControllerError,
    action::Again,
    guard::{Trouble, guard_call},
    pending_writes::{Parked, PendingWrites},
    reconcile::{Failure, Judged},
    request::{Asked, ReconcileReason},
    runner_error::Error,
    running::{Done, Running},
};
use crate::{
    delay::after,
    queue::{Queue, Retries, Urgency},
    reflector::{
        ObjectKey, ObjectRef,
        store::{Store, WriterDropped},
    },
};
use fastrand::Rng;
use futures::{
    FutureExt, Stream, StreamExt,
    future::BoxFuture,
    stream::{self, FuturesUnordered},
};
use kube_core::Resource;
use std::{
    fmt::Debug,
    future::{Future, poll_fn},
    hash::Hash,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// What a controller reports.
pub(super) type Report<K, E, Q> = Result<(ObjectRef<K>, Action), ControllerError<E, Q>>;

/// An object kind that can be reconciled.
pub(super) trait Reconcilable:
    Resource<DynamicType: Debug + Eq + Hash + Clone> + Clone + 'static
{
}

impl<K: Resource<DynamicType: Debug + Eq + Hash + Clone> + Clone + 'static> Reconcilable for K {}

/// What an error policy makes of the outcome of a reconcile.
pub(super) fn judge<K, E: Debug>(
    policy: impl Fn(Arc<K>, &E) -> Action,
) -> impl Fn(Arc<K>, Result<Result<Action, E>, Trouble>) -> Judged<E> {
    move |object, outcome| match outcome {
        Ok(Ok(action)) => Judged::new(None, Ok(action)),
        Ok(Err(error)) => {
            let decided = guard_call(|| policy(object, &error));
            Judged::new(Some(Failure::Failed(error)), decided)
        }
        Err(trouble) => Judged::new(Some(Failure::Trouble(trouble)), Ok(Action::retry())),
    }
}

/// How long reconciles wait for the lists of related objects once their own objects are complete.
///
/// Without the wait most controllers would reconcile everything twice at their start; without its end, a related kind
/// that nobody may list would stop them.
const LISTS_WAIT: Duration = Duration::from_secs(5);

/// Calls `start` for each object that is due, and `conclude` with what comes of it.
pub(super) struct Runner<K: Reconcilable, Q, F, Start, Conclude> {
    pub(super) store: Store<K>,
    /// `None` once they have ended: then what they hold, such as the writer of a store, is gone too.
    triggers: Option<Pin<Box<Q>>>,
    pub(super) start: Start,
    pub(super) conclude: Conclude,
    /// When this is done, nothing new is started.
    pub(super) shutdown: BoxFuture<'static, ()>,
    debounce: Duration,
    queue: Queue<Arc<ObjectKey>, ReconcileReason>,
    retries: Retries<Arc<ObjectKey>>,
    pending_writes: PendingWrites,
    running: FuturesUnordered<Running<K, F>>,
    stage: Stage,
    /// How many sources have not reported their first list.
    lists: usize,
    /// Whether anything was ever started.
    begun: bool,
    /// Whether triggers are looked at before reconciles that end. Both get on if it alternates.
    triggers_first: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The store is not complete yet: triggers are taken in, nothing is started.
    SyncingPrimary,
    /// The store is complete, the lists of related objects are not.
    SyncingRelated {
        until: Instant,
    },
    Running,
    /// Only what runs is waited for. Sources are still polled, since what runs may wait for the store that they fill; what they ask
    /// for is dropped.
    Draining,
}

/// What a runner waits for.
enum RunnerEvent<A, D> {
    Shutdown,
    StoreReady(Result<(), WriterDropped>),
    Asked(Option<A>),
    Done(D),
    WriteVisible(Arc<ObjectKey>, Option<Parked>),
    Due,
}

impl<K, Q, F, E, QErr, Start, Conclude> Runner<K, Q, F, Start, Conclude>
where
    K: Reconcilable,
    Q: Stream<Item = Result<Asked<K>, QErr>>,
    F: Future + Unpin,
    Start: FnMut(Arc<K>) -> F,
    Conclude: Fn(Arc<K>, F::Output) -> Judged<E>,
    E: std::error::Error + 'static,
    QErr: std::error::Error + 'static,
{
    pub(super) fn new(
        store: Store<K>,
        triggers: Q,
        start: Start,
        conclude: Conclude,
        shutdown: BoxFuture<'static, ()>,
        config: &Config,
    ) -> Self {
        Self {
            store,
            triggers: Some(Box::pin(triggers)),
            start,
            conclude,
            shutdown,
            debounce: config.debounce,
            queue: Queue::new(config.concurrency),
            retries: Retries::new(config.retries, Rng::new()),
            pending_writes: PendingWrites::new(config.longest_write_wait()),
            running: FuturesUnordered::new(),
            stage: Stage::SyncingPrimary,
            lists: 0,
            begun: false,
            triggers_first: true,
        }
    }

    /// Waits, but not for long, for the first lists of so many sources before anything is started.
    pub(super) fn after_lists(self, lists: usize) -> Self {
        Self { lists, ..self }
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = Report<K, E, QErr>> {
        stream::unfold(self, |mut runner| async move {
            let report = runner.next().await?;
            Some((report, runner))
        })
    }

    async fn next(&mut self) -> Option<Report<K, E, QErr>> {
        loop {
            // Asked before anything is started; below, whatever is ready first wins.
            if self.stage != Stage::Draining && (&mut self.shutdown).now_or_never().is_some() {
                self.stage = Stage::Draining;
            }
            if let Some(report) = self.start_due() {
                return Some(report);
            }
            if self.is_done() {
                return None;
            }
            match self.event().await {
                RunnerEvent::Shutdown => self.stage = Stage::Draining,
                RunnerEvent::StoreReady(Ok(())) => {
                    self.stage = Stage::SyncingRelated { until: after(Instant::now(), LISTS_WAIT) };
                }
                RunnerEvent::StoreReady(Err(error)) => return Some(Err(self.give_up(error))),
                RunnerEvent::Asked(Some(Ok(_))) if self.stage == Stage::Draining => {
                    tokio::task::consume_budget().await; // or a source without end would keep what runs from running
                }
                RunnerEvent::Asked(Some(Ok(Asked::CallbackPanicked(panic)))) => {
                    return Some(Err(panic.into()));
                }
                RunnerEvent::Asked(Some(Ok(asked))) => self.take_in(asked),
                RunnerEvent::Asked(Some(Err(error))) => return Some(Err(ControllerError::QueueError(error))),
                RunnerEvent::Asked(None) => self.close(),
                RunnerEvent::Done(done) => return Some(self.finish(done)),
                RunnerEvent::WriteVisible(key, parked) => self.unpark(key, parked),
                RunnerEvent::Due => {}
            }
        }
    }

    async fn event(&mut self) -> RunnerEvent<Result<Asked<K>, QErr>, Done<K, F::Output>> {
        let due = match self.stage {
            Stage::Running => self.queue.next_due(),
            Stage::SyncingRelated { until } => Some(until),
            Stage::SyncingPrimary | Stage::Draining => None,
        };
        let Self { shutdown, store, triggers, running, pending_writes, .. } = self;
        self.triggers_first = !self.triggers_first;
        let work = poll_fn(|cx| {
            if let Poll::Ready((key, parked)) = pending_writes.poll_visible(cx) {
                return Poll::Ready(RunnerEvent::WriteVisible(key, parked));
            }
            if self.triggers_first {
                poll_asked(triggers, cx).or_else(|| poll_done(running, cx))
            } else {
                poll_done(running, cx).or_else(|| poll_asked(triggers, cx))
            }
            .map_or(Poll::Pending, Poll::Ready)
        });
        tokio::select! {
            biased; // what comes first must not be chance: simulations are to be repeated
            () = shutdown, if self.stage != Stage::Draining => RunnerEvent::Shutdown,
            ready = store.wait_until_ready(), if self.stage == Stage::SyncingPrimary => RunnerEvent::StoreReady(ready),
            event = work => event,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => RunnerEvent::Due,
        }
    }

    fn is_done(&self) -> bool {
        self.running.is_empty()
            && (self.stage == Stage::Draining
                || (self.triggers.is_none() && self.queue.is_empty() && !self.pending_writes.has_parked()))
    }

    fn take_in(&mut self, asked: Asked<K>) {
        match asked {
            Asked::One { request, urgency } => {
                self.enqueue(ObjectKey::from(&request.obj_ref), request.reason, urgency);
            }
            Asked::All => self.enqueue_all(),
            Asked::Reviewed { first } => {
                self.lists -= usize::from(first);
                if self.begun {
                    self.enqueue_all(); // otherwise whatever there is waits for its first turn anyway
                }
            }
            Asked::CallbackPanicked(_) => {} // asks for nothing
        }
    }

    fn enqueue_all(&mut self) {
        let mut keys = self.store.keys();
        keys.sort_unstable(); // rather than in the order of a hash map, which nobody can repeat
        for key in keys {
            self.enqueue(key, ReconcileReason::BulkReconcile, Urgency::Background);
        }
    }

    fn enqueue(&mut self, key: ObjectKey, reason: ReconcileReason, urgency: Urgency) {
        let now = Instant::now();
        // Before the first list is complete, everything is what was there at the start.
        let urgency = if self.stage == Stage::SyncingPrimary { Urgency::Background } else { urgency };
        self.queue.push(Arc::new(key), reason, after(now, self.debounce), urgency, now);
    }

    /// There will be no more triggers: what was asked for is still done, but nothing is repeated for ever.
    fn close(&mut self) {
        self.triggers = None;
        self.lists = 0;
        self.queue.retain_waiting(|reason| !reason.is_own());
        self.pending_writes.retain(|reason| !reason.is_own());
    }

    fn give_up(&mut self, error: WriterDropped) -> ControllerError<E, QErr> {
        self.stage = Stage::Draining;
        ControllerError::RunnerError(Error::Readiness(error))
    }

    /// Starts every reconcile that may start now, unless there is something to report first.
    fn start_due(&mut self) -> Option<Report<K, E, QErr>> {
        let now = Instant::now();
        match self.stage {
            Stage::Running => {}
            Stage::SyncingRelated { until } if self.lists == 0 || until <= now => self.stage = Stage::Running,
            Stage::SyncingPrimary | Stage::SyncingRelated { .. } | Stage::Draining => return None,
        }
        while let Some((key, reason)) = self.queue.start(now) {
            let Some(reason) = self.pending_writes.park(&key, reason) else {
                self.queue.finish(&key, now);
                continue;
            };
            let Some(object) = self.store.newest(&key) else {
                self.queue.finish(&key, now);
                self.retries.forget(&key);
                if reason.is_own() {
                    continue; // deleted since it asked for another run
                }
                return Some(Err(ControllerError::ObjectNotFound(Box::new(self.reference(&key).erase()))));
            };
            let actual = ObjectKey::of(&*object);
            if *key != actual {
                // A child's idea of an owner that has no namespace. Two names must not become two runs at once.
                self.queue.finish(&key, now);
                let urgency = reason.urgency();
                self.queue.push(Arc::new(actual), reason, now, urgency, now);
                continue;
            }
            if let Some(report) = self.launch(key, object, &reason) {
                return Some(report);
            }
        }
        None
    }

    fn launch(
        &mut self,
        key: Arc<ObjectKey>,
        object: Arc<K>,
        reason: &ReconcileReason,
    ) -> Option<Report<K, E, QErr>> {
        self.begun = true;
        let reference = self.reference(&key);
        let span =
            tracing::info_span!("reconciling object", "object.ref" = %reference, "object.reason" = %reason);
        tracing::debug!(parent: &span, "a reconcile starts");
        match span.in_scope(|| guard_call(|| (self.start)(Arc::clone(&object)))) {
            Ok(future) => {
                self.running.push(Running { key, object, span, future });
                None
            }
            Err(trouble) => {
                let judged = Judged::new(Some(Failure::Trouble(trouble)), Ok(Action::retry()));
                Some(span.in_scope(|| self.report(&key, &object, judged)))
            }
        }
    }

    fn finish(&mut self, (key, object, span, output): Done<K, F::Output>) -> Report<K, E, QErr> {
        let _inside = span.enter();
        let judged = (self.conclude)(Arc::clone(&object), output);
        self.report(&key, &object, judged)
    }

    fn report(&mut self, key: &Arc<ObjectKey>, object: &K, judged: Judged<E>) -> Report<K, E, QErr> {
        let reference = ObjectRef::from_obj_with(object, self.store.dyntype().clone());
        let Judged { action, failure } = judged;
        let (reason, report) = match failure {
            None => (ReconcileReason::ReconcilerRequestedRetry, Ok((reference, action.clone()))),
            Some(Failure::Failed(error)) => {
                let error = ControllerError::ReconcilerFailed(error, Box::new(reference.erase()));
                (ReconcileReason::ErrorPolicyRequestedRetry, Err(error))
            }
            Some(Failure::Trouble(trouble)) => {
                let error = Error::from_trouble(trouble, Box::new(reference.erase()));
                tracing::error!(%error, "a reconciler did not come to its end");
                (ReconcileReason::ErrorPolicyRequestedRetry, Err(ControllerError::RunnerError(error)))
            }
        };
        self.settle(key, object, &action, reason);
        report
    }

    /// Frees `key`, and puts it in line again if `action` says so.
    fn settle(&mut self, key: &Arc<ObjectKey>, object: &K, action: &Action, reason: ReconcileReason) {
        let delay = match action.again() {
            Again::BackingOff => Some(self.retries.failed(Arc::clone(key))),
            Again::After(delay) => Some(delay),
            Again::OnChange => None,
        };
        tracing::debug!(namespace = key.namespace.as_deref(), name = %key.name, again = ?delay, "a reconcile is over");
        if action.again() != Again::BackingOff {
            self.retries.forget(key);
        }
        let now = Instant::now();
        self.expect_write(key, action, object);
        if let Some(delay) = delay.filter(|_| self.triggers.is_some()) {
            let due = after(now, delay.max(self.debounce));
            let urgency = reason.urgency();
            self.queue.push(Arc::clone(key), reason, due, urgency, now);
        }
        self.queue.finish(key, now);
    }

    /// Holds `key` back until the store shows what `action` says was written.
    fn expect_write(&mut self, key: &Arc<ObjectKey>, action: &Action, object: &K) {
        let Some(written) = action.written().filter(|_| self.pending_writes.is_enabled()) else { return };
        match written.awaited_after(object, self.store.dyntype()) {
            Some(awaited) => self.pending_writes.expect(key, self.store.wait_until((**key).clone(), awaited)),
            None => {
                tracing::warn!(object = %key.name, "Action::after_write was given another object than the one that was reconciled");
            }
        }
    }

    /// The store shows the last write to `key`, or has had its time.
    fn unpark(&mut self, key: Arc<ObjectKey>, parked: Option<Parked>) {
        if let Some(Parked { reason, urgency }) = parked {
            let now = Instant::now();
            self.queue.push(key, reason, now, urgency, now);
        }
    }

    fn reference(&self, key: &ObjectKey) -> ObjectRef<K> {
        key.to_ref(self.store.dyntype().clone())
    }
}

fn poll_asked<A, D>(
    triggers: &mut Option<Pin<Box<impl Stream<Item = A>>>>,
    cx: &mut Context<'_>,
) -> Option<RunnerEvent<A, D>> {
    match triggers.as_mut()?.as_mut().poll_next(cx) {
        Poll::Ready(asked) => Some(RunnerEvent::Asked(asked)),
        Poll::Pending => None,
    }
}

fn poll_done<A, K, F: Future + Unpin>(
    running: &mut FuturesUnordered<Running<K, F>>,
    cx: &mut Context<'_>,
) -> Option<RunnerEvent<A, Done<K, F::Output>>> {
    match running.poll_next_unpin(cx) {
        Poll::Ready(Some(done)) => Some(RunnerEvent::Done(done)),
        Poll::Ready(None) | Poll::Pending => None, // nothing runs, or nothing is done
    }
}
