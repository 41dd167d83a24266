//! The async shell around the queue: receives triggers, starts reconciles that are due, and emits their results.

use super::{
    clusters::ShownClusters,
    own_writes::OwnWrites,
    queue::WorkQueue,
    result::{ReconcileResult, result_of},
    stage::{RELATED_SYNC_TIMEOUT, RunnerEvent, Stage, poll_running, poll_trigger},
};
use crate::{
    controller::{
        assignment::{AssignedKeys, Assignments, VALIDITY_CHECK},
        config::Config,
        error::Error as ControllerError,
        observe::{Observer, log},
        reconcile::{
            Action, FinishedReconcile, ReconcileFailure, ReconcileReason, Resolution, RunningReconcile,
            RunningReconciles, guard_call,
        },
        runner_error::Error,
        scope::Coverage,
        source::Trigger,
        workers::WorkerLane,
    },
    delay::{after, until},
    queue::Priority,
    reflector::{
        ObjectKey, ObjectRef,
        store::{Store, Undecodable, WriterDropped},
    },
    served::scope_of,
};
use futures::{
    FutureExt, Stream,
    future::{self, BoxFuture},
    stream,
};
use kube_core::{Resource, discovery::Scope};
use std::{
    fmt::Debug,
    future::{Future, poll_fn},
    hash::Hash,
    pin::Pin,
    sync::Arc,
    task::Poll,
};
use tokio::time::Instant;

/// An object kind that can be reconciled.
pub(super) trait Reconcilable:
    Resource<DynamicType: Debug + Eq + Hash + Clone> + Clone + 'static
{
}

impl<K: Resource<DynamicType: Debug + Eq + Hash + Clone> + Clone + 'static> Reconcilable for K {}

/// Calls `start` for each object that is due, and `resolve` with the output of each reconcile.
pub(super) struct Runner<K: Reconcilable, Q, F, Start, Resolve> {
    pub(super) store: Store<K>,
    /// `None` after their end, so that what they hold, such as the writer of a store, is dropped.
    triggers: Option<Pin<Box<Q>>>,
    pub(super) start: Start,
    pub(super) resolve: Resolve,
    /// Once this completes, no reconcile is started.
    pub(super) shutdown: BoxFuture<'static, ()>,
    queue: WorkQueue<K>,
    running: RunningReconciles<K, F>,
    /// What of the configuration contradicts itself.
    invalid: Option<&'static str>,
    stage: Stage,
    /// Until the first poll, from which on this is a running controller.
    assignments: Option<Assignments>,
    assigned: AssignedKeys,
    /// What no reconcile starts before. `None` once all of it has completed.
    gates: Option<BoxFuture<'static, ()>>,
    /// The number of related sources whose first list is not complete.
    unsynced_related: usize,
    /// Whether any reconcile was ever started.
    any_started: bool,
    /// Whether to poll triggers before running reconciles. It alternates, so that neither starves.
    triggers_first: bool,
    observer: Observer,
    own_writes: OwnWrites,
    clusters: ShownClusters,
}

impl<K, Q, F, E, QErr, Start, Resolve> Runner<K, Q, F, Start, Resolve>
where
    K: Reconcilable,
    Q: Stream<Item = Result<Trigger, QErr>>,
    F: Future + Unpin,
    Start: FnMut(Arc<K>) -> F,
    Resolve: Fn(Arc<K>, F::Output) -> Resolution<E>,
    E: std::error::Error + 'static,
    QErr: std::error::Error + 'static,
{
    pub(super) fn new(
        store: Store<K>,
        triggers: Q,
        start: Start,
        resolve: Resolve,
        shutdown: BoxFuture<'static, ()>,
        config: &Config,
    ) -> Self {
        Self {
            queue: WorkQueue::new(config, store.clone()),
            invalid: config.problem(),
            store,
            triggers: Some(Box::pin(triggers)),
            start,
            resolve,
            shutdown,
            running: RunningReconciles::new(),
            stage: Stage::SyncingPrimary,
            assignments: None,
            assigned: AssignedKeys::default(),
            gates: None,
            unsynced_related: 0,
            any_started: false,
            triggers_first: true,
            observer: Observer::default(),
            own_writes: OwnWrites::new(config),
            clusters: ShownClusters::default(),
        }
    }

    pub(super) fn observed_by(self, observer: Observer) -> Self {
        Self { observer, ..self }
    }

    /// Delays the first reconciles until `related_sources` lists are complete, for at most [`RELATED_SYNC_TIMEOUT`].
    pub(super) fn wait_for_related(self, related_sources: usize) -> Self {
        Self { unsynced_related: related_sources, ..self }
    }

    /// Starts no reconcile before all of these have completed.
    pub(super) fn gated_by(self, gates: Vec<BoxFuture<'static, ()>>) -> Self {
        let gates = (!gates.is_empty()).then(|| future::join_all(gates).map(drop).boxed());
        Self { gates, ..self }
    }

    /// Starts no reconcile without a worker of this lane.
    pub(super) fn sharing(self, workers: Option<WorkerLane>) -> Self {
        Self { running: RunningReconciles::sharing(workers), ..self }
    }

    /// Reconciles only what is assigned.
    pub(super) fn assigned_by(self, assignments: Option<Assignments>) -> Self {
        Self { assignments, ..self }
    }

    /// Holds an object back until all of these show what its last reconcile wrote.
    pub(super) fn covering(mut self, coverage: Coverage) -> Self {
        self.own_writes.covered_by(coverage);
        self
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = ReconcileResult<K, E, QErr>> {
        // Boxed, because each item moves it.
        stream::unfold(Box::new(self), |mut runner| async move {
            let result = runner.next().await?;
            Some((result, runner))
        })
    }

    async fn next(&mut self) -> Option<ReconcileResult<K, E, QErr>> {
        if let Some(assignments) = self.assignments.take() {
            self.assigned = AssignedKeys::of(&assignments);
        }
        if let Some(problem) = self.invalid.take() {
            return Some(Err(self.fail(Error::InvalidConfig { problem })));
        }
        loop {
            self.apply_assignment();
            // Checked before a start, because `next_event` may return another event that is ready at the same time.
            if self.stage != Stage::Draining && (&mut self.shutdown).now_or_never().is_some() {
                self.stage = Stage::Draining;
            }
            if let Some(result) = self.start_due() {
                return Some(result);
            }
            if self.is_done() {
                return None;
            }
            let state = self.stage.state(self.assigned.is_standby());
            self.observer.waiting(state, || self.queue.numbers());
            match self.next_event().await {
                RunnerEvent::Shutdown => self.stage = Stage::Draining,
                RunnerEvent::StoreReady(Ok(())) => {
                    self.queue.listed();
                    self.stage = Stage::SyncingRelated { until: after(Instant::now(), RELATED_SYNC_TIMEOUT) };
                }
                RunnerEvent::StoreReady(Err(error)) => return Some(Err(self.fail(Error::Readiness(error)))),
                RunnerEvent::Trigger(Some(Ok(_))) if self.stage == Stage::Draining => {
                    tokio::task::consume_budget().await; // an endless source must not starve running reconciles
                }
                RunnerEvent::Trigger(Some(Ok(Trigger::CallbackPanicked(panic)))) => {
                    return Some(Err(panic.into()));
                }
                RunnerEvent::Trigger(Some(Ok(Trigger::SourcePanicked(panic)))) => {
                    self.observer.source_panicked(&panic);
                    return Some(Err(panic.into()));
                }
                RunnerEvent::Trigger(Some(Ok(Trigger::SyncTimedOut { waited, waiting }))) => {
                    return Some(Err(self.fail(Error::SyncTimedOut { waited, waiting })));
                }
                RunnerEvent::Trigger(Some(Ok(trigger))) => self.handle(trigger),
                RunnerEvent::Trigger(Some(Err(error))) => {
                    return Some(Err(ControllerError::QueueError(error)));
                }
                RunnerEvent::Trigger(None) => self.triggers_ended(),
                RunnerEvent::Finished(reconcile) => return Some(self.finish(reconcile)),
                RunnerEvent::Released
                | RunnerEvent::Room
                | RunnerEvent::AssignmentChanged
                | RunnerEvent::TimerFired => {}
            }
        }
    }

    async fn next_event(&mut self) -> RunnerEvent<Result<Trigger, QErr>, FinishedReconcile<K, F::Output>> {
        let timer = match self.stage {
            Stage::Running if !self.assigned.is_valid() || self.clusters.may_have_changed() => {
                Some(after(Instant::now(), VALIDITY_CHECK))
            }
            Stage::Running => self.queue.next_due(),
            Stage::SyncingRelated { until } => Some(until),
            Stage::SyncingPrimary | Stage::Draining => None,
        };
        let Self { shutdown, store, gates, triggers, running, queue, assigned, .. } = self;
        let ready = async {
            store.wait_until_ready().await?;
            if let Some(gate) = gates {
                gate.await;
                *gates = None;
            }
            Ok(())
        };
        self.triggers_first = !self.triggers_first;
        let work = poll_fn(|cx| {
            if queue.poll_released(cx).is_ready() {
                return Poll::Ready(RunnerEvent::Released);
            }
            if self.triggers_first {
                poll_trigger(triggers, cx).or_else(|| poll_running(running, cx))
            } else {
                poll_running(running, cx).or_else(|| poll_trigger(triggers, cx))
            }
            .map_or(Poll::Pending, Poll::Ready)
        });
        tokio::select! {
            biased; // random polling order would make simulations irreproducible
            () = shutdown, if self.stage != Stage::Draining => RunnerEvent::Shutdown,
            ready = ready, if self.stage == Stage::SyncingPrimary => RunnerEvent::StoreReady(ready),
            () = assigned.changed() => RunnerEvent::AssignmentChanged,
            event = work => event,
            () = until(timer) => RunnerEvent::TimerFired,
        }
    }

    fn is_done(&self) -> bool {
        self.running.is_empty()
            && (self.stage == Stage::Draining || (self.triggers.is_none() && self.queue.is_empty()))
    }

    fn handle(&mut self, trigger: Trigger) {
        match trigger {
            Trigger::Object { key, reason, priority, shows } => {
                if let Some((reason, priority)) = self.own_writes.triggered(&key, shows, (reason, priority)) {
                    self.enqueue(key, reason, priority);
                }
            }
            Trigger::All => self.enqueue_all(),
            Trigger::RelatedSynced { first } => {
                self.unsynced_related -= usize::from(first);
                if self.any_started {
                    self.enqueue_all(); // before the first start, all objects are in the queue anyway
                }
            }
            // Returned as errors by `next`.
            Trigger::CallbackPanicked(_) | Trigger::SourcePanicked(_) | Trigger::SyncTimedOut { .. } => {}
        }
    }

    fn enqueue_all(&mut self) {
        self.enqueue_bulk(self.store.keys());
    }

    /// Takes over a new assignment.
    fn apply_assignment(&mut self) {
        if let Some(previous) = self.assigned.update() {
            let mut keys = self.store.keys();
            keys.retain(|key| self.assigned.includes(key) && !previous.includes(key));
            self.enqueue_bulk(keys);
        }
    }

    fn enqueue_bulk(&mut self, mut keys: Vec<ObjectKey>) {
        keys.sort_unstable(); // the order of a hash map would make simulations irreproducible
        keys.dedup();
        for key in keys {
            self.enqueue(key, ReconcileReason::BulkReconcile, Priority::Background);
        }
    }

    fn enqueue(&mut self, mut key: ObjectKey, reason: ReconcileReason, priority: Priority) {
        if scope_of::<K>() == Some(Scope::Cluster) {
            key.namespace = None; // a child's reference to its owner has the child's namespace
        }
        // Until the initial list is complete, every object is part of it.
        let priority = if self.stage == Stage::SyncingPrimary { Priority::Background } else { priority };
        self.queue.push(key, reason, priority);
    }

    /// The triggers have ended: pending requests are still reconciled, but requeues are dropped, so that the output ends.
    fn triggers_ended(&mut self) {
        self.triggers = None;
        self.unsynced_related = 0;
        self.queue.close();
    }

    /// Nothing starts any more, so that the output ends.
    fn fail(&mut self, error: Error<WriterDropped>) -> ControllerError<E, QErr> {
        self.stage = Stage::Draining;
        ControllerError::RunnerError(error)
    }

    /// Starts reconciles that are due, as long as there is room. Returns early if an object yields a result without a reconcile.
    fn start_due(&mut self) -> Option<ReconcileResult<K, E, QErr>> {
        let now = Instant::now();
        let may_start = self.stage.may_start(self.unsynced_related == 0, now) && self.assigned.is_valid();
        while self.has_room(may_start, now)
            && let Some((key, reason)) = self.queue.start(now)
        {
            if let Some(result) = self.start_key(key, reason, now) {
                return Some(result);
            }
        }
        None
    }

    /// Whether a reconcile may start now, if one is due.
    fn has_room(&mut self, may_start: bool, now: Instant) -> bool {
        let may_start = may_start && self.clusters.are_present(&self.observer);
        self.running.has_room_for(may_start, || self.queue.has_due(now), now)
    }

    /// Starts the reconcile of an object that is due. Returns a result if it yields one without a reconcile.
    fn start_key(
        &mut self,
        key: Arc<ObjectKey>,
        reason: ReconcileReason,
        now: Instant,
    ) -> Option<ReconcileResult<K, E, QErr>> {
        let object = match self.store.newest(&key).transpose() {
            Some(Ok(object)) => object,
            none => return self.not_found(&key, &reason, now, none.and_then(Result::err)),
        };
        if !key.is_of(&*object) {
            // A child's reference to a cluster-scoped owner has the child's namespace. Without the canonical key, one
            // object could be reconciled twice at once.
            self.queue.replace_started(&key, ObjectKey::of(&*object), reason, now);
            return None;
        }
        if !self.assigned.includes(&key) {
            self.queue.drop_started(&key, now); // enqueued again when it is assigned
            return None;
        }
        self.start_one(key, object, &reason)
    }

    /// The object of a request does not exist, or is undecodable.
    fn not_found(
        &mut self,
        key: &Arc<ObjectKey>,
        reason: &ReconcileReason,
        now: Instant,
        undecodable: Option<Undecodable>,
    ) -> Option<ReconcileResult<K, E, QErr>> {
        self.queue.drop_started(key, now);
        match &undecodable {
            Some(failed) => self.observer.undecodable(key, self.store.uid_of(key), &failed.error),
            None => self.observer.gone(key),
        }
        if reason.is_internal() || !self.assigned.includes(key) {
            return None; // deleted since it was requeued, or another replica reports it
        }
        let object = Box::new(key.to_ref::<K>(self.store.dyntype().clone()).erase());
        Some(Err(match undecodable {
            None => ControllerError::ObjectNotFound(object),
            Some(failed) => ControllerError::RunnerError(Error::Undecodable { object, error: failed.error }),
        }))
    }

    /// Starts a reconcile. Returns a result only if `start` panics.
    fn start_one(
        &mut self,
        key: Arc<ObjectKey>,
        object: Arc<K>,
        reason: &ReconcileReason,
    ) -> Option<ReconcileResult<K, E, QErr>> {
        self.any_started = true;
        self.own_writes.started(&key);
        let attempt = self.queue.attempt(&key, object.meta().uid.as_deref());
        let span = log::reconcile_span(key.display_as::<K>(self.store.dyntype()), reason, attempt);
        let version = object.meta().resource_version.as_deref();
        self.observer.started((&key, version), reason, attempt, self.queue.last_wait());
        log::started(&span);
        match span.in_scope(|| guard_call(|| (self.start)(Arc::clone(&object)))) {
            Ok(future) => {
                self.running.push(RunningReconcile { key, object, span, future });
                None
            }
            Err(interruption) => {
                let failure = ReconcileFailure::Interrupted(interruption);
                let resolution = Resolution::new(Some(failure), Ok(Action::retry()));
                Some(span.in_scope(|| self.complete(&key, &object, resolution)))
            }
        }
    }

    fn finish(
        &mut self,
        (key, object, span, output): FinishedReconcile<K, F::Output>,
    ) -> ReconcileResult<K, E, QErr> {
        let _entered = span.enter();
        let resolution = (self.resolve)(Arc::clone(&object), output);
        self.complete(&key, &object, resolution)
    }

    /// Applies the action of a finished reconcile and returns its result.
    fn complete(
        &mut self,
        key: &Arc<ObjectKey>,
        object: &K,
        resolution: Resolution<E>,
    ) -> ReconcileResult<K, E, QErr> {
        let object_ref = ObjectRef::from_obj_with(object, self.store.dyntype().clone());
        let Resolution { action, failure, writes } = resolution;
        let revoked = matches!(failure, Some(ReconcileFailure::Revoked));
        let (reason, result) = result_of(failure, object_ref, &action);
        let uid = object.meta().uid.as_deref();
        let delay = self.queue.next_delay(key, uid, self.own_writes.next_run(&action));
        let outcome = self.observer.finished(key, uid, &action, delay, result.as_ref().err());
        log::outcome(outcome);
        log::finished(delay);
        self.queue.hold(key, self.own_writes.shown(&writes, &action, (&**key, object), &self.store));
        for ((reason, priority), since) in self.own_writes.finished(key, &writes) {
            self.queue.push_since(Arc::clone(key), reason, priority, since);
        }
        self.queue.finish(key, delay, reason);
        if revoked && self.assigned.includes(key) {
            // It was assigned again before this runner saw that it was not, so that no new assignment enqueues it.
            self.enqueue((**key).clone(), ReconcileReason::BulkReconcile, Priority::Background);
        }
        result
    }
}
