//! What the runner calls: each call updates the state and the metrics.

use super::{
    failures::{Failure, UNDECODABLE},
    lanes::LaneSample,
    name::ControllerName,
    outcome::{ReconcileOutcome, message_of},
    state::{ControllerState, Observation, Running},
    told::Told,
};
use crate::{
    capacity::release,
    controller::{
        error::Error,
        reconcile::{Action, ReconcileReason, Requeue},
        source::SourcePanic,
    },
    delay::after,
    metrics::{ControllerMetrics, Finished, LaneMeasurement, Refresh, register, unregister},
    queue::QueueNumbers,
    reflector::ObjectKey,
    watcher::WatchRegistry,
};
use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Notes what the runner does. When it is dropped, the controller has ended.
///
/// Each call costs one lock that is held for a few assignments, and nothing if the controller is not observed.
#[derive(Default)]
pub(crate) struct Observer(Option<Active>);

struct Active {
    observed: Arc<Observed>,
    told: Option<Told>,
    /// Kept until the controller has ended.
    _name: ControllerName,
}

/// How many reconciles run at once; 0 means no limit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// Of the controller.
    pub(crate) max_concurrent: u16,
    /// Of all that have its name.
    pub(crate) of_all: u16,
}

/// A running controller.
pub(crate) struct Observed {
    observation: Arc<Observation>,
    metrics: ControllerMetrics,
}

impl Observer {
    /// Observes a controller of this name that starts to run.
    pub(crate) fn start(observation: Arc<Observation>, name: ControllerName, limits: Limits) -> Self {
        let subject = name.subject();
        let Limits { max_concurrent, of_all } = limits;
        let mut facts = observation.facts.lock();
        facts.name = Arc::clone(&subject.controller);
        facts.max_concurrent = max_concurrent;
        drop(facts);
        let metrics = ControllerMetrics::new(&subject, &observation.kind, of_all);
        observation.watches.set_controller(&subject);
        let observed = Arc::new(Observed { observation, metrics });
        register(&observed);
        Self(Some(Active { observed, told: None, _name: name }))
    }

    /// Tells each start and end, too.
    pub(crate) fn telling(mut self, told: Option<Told>) -> Self {
        if let Some(active) = &mut self.0 {
            active.told = told;
        }
        self
    }

    /// Where the watches of the controller are registered.
    pub(crate) fn watches(&self) -> Option<Arc<WatchRegistry>> {
        self.0.as_ref().map(|active| Arc::clone(&active.observed.observation.watches))
    }

    /// Whether each watch of the controller shows the cluster to which its client leads.
    pub(crate) fn watches_show_present_clusters(&self) -> bool {
        let watches = self.0.as_ref().map(|active| &active.observed.observation.watches);
        watches.is_none_or(|watches| watches.show_present_clusters())
    }

    /// What has gauges that change with time alone.
    pub(crate) fn observed(&self) -> Option<Arc<Observed>> {
        self.0.as_ref().map(|active| Arc::clone(&active.observed))
    }

    /// The runner waits for an event: every key that may start has started.
    pub(crate) fn waiting(
        &self,
        state: ControllerState,
        numbers: impl FnOnce() -> (QueueNumbers, Option<LaneSample>),
    ) {
        let Some(Active { observed, .. }) = &self.0 else { return };
        let (numbers, lanes) = numbers();
        let mut facts = observed.observation.facts.lock();
        facts.state = state;
        let added = numbers.adds - facts.queue.adds;
        facts.queue = numbers;
        let former = lanes.map(|lanes| std::mem::replace(&mut facts.lanes, lanes));
        drop(facts);
        drop(former); // not under the lock: it has names
        observed.metrics.queue(numbers.changes, numbers.background, added);
    }

    /// A reconcile of the object in this version starts, after it was due for `waited`.
    pub(crate) fn started(
        &self,
        (key, version): (&Arc<ObjectKey>, Option<&str>),
        reason: &ReconcileReason,
        attempt: u32,
        waited: Duration,
    ) {
        let Some(Active { observed, told, .. }) = &self.0 else { return };
        if let Some(told) = told {
            told.started(key, reason, attempt, version);
        }
        observed.metrics.started(waited);
        let running = Running { started: Instant::now(), reason: reason.clone(), attempt, waited };
        observed.observation.facts.lock().running.insert(Arc::clone(key), Arc::new(running));
    }

    /// A reconcile of the object with this key and uid has ended, and the next one is due after `delay`. Returns how it has ended.
    pub(crate) fn finished<E: StdError + 'static, Q: StdError + 'static>(
        &self,
        key: &Arc<ObjectKey>,
        uid: Option<&str>,
        action: &Action,
        delay: Option<Duration>,
        error: Option<&Error<E, Q>>,
    ) -> ReconcileOutcome {
        let outcome = ReconcileOutcome::of(action, error);
        let Some(Active { observed, told, .. }) = &self.0 else { return outcome };
        if let Some(told) = told {
            told.ended(key, outcome);
        }
        let message = error.map(message_of);
        let now = Instant::now();
        let mut facts = observed.observation.facts.lock();
        let (attempt, started) =
            facts.running.remove(key).map_or((1, now), |running| (running.attempt, running.started));
        release(&mut facts.running);
        facts.totals.count(outcome, action);
        match message.filter(|_| outcome.is_failure()) {
            Some(message) => {
                let uid = uid.map(Into::into);
                let retry_at = delay.map(|delay| after(now, delay));
                let failure = Failure { at: now, uid, outcome: outcome.as_str(), message, attempt, retry_at };
                facts.failures.failed(Arc::clone(key), failure);
            }
            None => facts.failures.forget(key),
        }
        drop(facts);
        observed.metrics.finished(Finished {
            result: outcome.result(),
            failed: outcome.is_failure(),
            panicked: outcome == ReconcileOutcome::Panicked,
            timed_out: outcome == ReconcileOutcome::TimedOut,
            retried: outcome.is_retry(action),
            final_: action.next_run() == Requeue::Never,
            elapsed: now - started,
        });
        outcome
    }

    /// An object that was to be reconciled cannot be decoded.
    pub(crate) fn undecodable(&self, key: &Arc<ObjectKey>, uid: Option<Box<str>>, error: &str) {
        if let Some(Active { observed, .. }) = &self.0 {
            let message = format!("the {} cannot be decoded: {error}", observed.observation.kind);
            let failure = Failure {
                at: Instant::now(),
                uid,
                outcome: UNDECODABLE,
                message,
                attempt: 0,
                retry_at: None,
            };
            observed.observation.facts.lock().failures.failed(Arc::clone(key), failure);
        }
    }

    /// A source panicked, and causes no reconciles any more.
    pub(crate) fn source_panicked(&self, panic: &SourcePanic) {
        if let Some(Active { observed, .. }) = &self.0 {
            let mut facts = observed.observation.facts.lock();
            facts.panicked_source.get_or_insert_with(|| (panic.source.clone(), panic.message.clone()));
        }
    }

    /// An object that was to be reconciled does not exist.
    pub(crate) fn gone(&self, key: &ObjectKey) {
        if let Some(Active { observed, .. }) = &self.0 {
            observed.observation.facts.lock().failures.forget(key);
        }
    }
}

impl Refresh for Observed {
    fn refresh(&self, now: Instant) {
        let Self { observation, metrics } = self;
        let facts = observation.facts.lock();
        let cache = facts.cache.clone();
        let running = facts.running.values().map(|running| now.saturating_duration_since(running.started));
        let running: Vec<_> = running.collect();
        let lanes = LaneMeasurement {
            lanes: facts.queue.lanes,
            deepest: facts.lanes.deepest,
            longest_wait: facts.lanes.oldest.map_or(Duration::ZERO, |due| now.saturating_duration_since(due)),
        };
        drop(facts);
        metrics.refresh(running.into_iter(), cache.map_or(0, |cache| cache.objects()), lanes);
        observation.watches.refresh(now);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.as_ref().map(|active| &active.observed.observation)).finish()
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        unregister(&self.observed);
        let mut facts = self.observed.observation.facts.lock();
        facts.state = ControllerState::Stopped;
        facts.queue = Default::default();
        facts.lanes = Default::default();
        let running = std::mem::take(&mut facts.running);
        let cache = facts.cache.take();
        drop(facts);
        drop((running, cache)); // not under the lock: they may own much
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reflector;
    use k8s_openapi::api::core::v1::ConfigMap;
    use std::convert::Infallible;

    fn started(observation: Observation, name: &str) -> Observer {
        Observer::start(Arc::new(observation), ControllerName::alone(name), Limits::default())
    }

    #[test]
    fn a_reconcile_costs_one_allocation_and_none_without_a_monitor() {
        let (store, _writer) = reflector::store::<ConfigMap>();
        let observed = started(Observation::new("cost", store), "cost-test");
        let key = Arc::new(ObjectKey { namespace: Some("shop".into()), name: "a".into() });
        let reconcile = |observer: &Observer| {
            observer.started((&key, None), &ReconcileReason::ObjectUpdated, 1, Duration::ZERO);
            observer.finished::<Infallible, Infallible>(&key, None, &Action::await_change(), None, None);
        };
        reconcile(&observed); // the table of running reconciles grows
        let cost = |observer: &Observer| {
            allocation_counter::measure(|| (0..100).for_each(|_| reconcile(observer))).count_total
        };
        assert_eq!((cost(&observed), cost(&Observer::default())), (100, 0));
    }

    #[test]
    fn reconciles_that_have_ended_take_little_memory() {
        let (store, _writer) = reflector::store::<ConfigMap>();
        let observer = started(Observation::new("ended", store), "ended-test");
        let memory = allocation_counter::measure(|| {
            let keys: Vec<_> = (0..10_000)
                .map(|number| Arc::new(ObjectKey { namespace: None, name: number.to_string().into() }))
                .collect();
            for key in &keys {
                observer.started((key, None), &ReconcileReason::ObjectUpdated, 1, Duration::ZERO);
            }
            for key in &keys {
                observer.finished::<Infallible, Infallible>(key, None, &Action::await_change(), None, None);
            }
        });
        assert!(memory.bytes_current < 20_000, "{memory:?}");
    }
}
