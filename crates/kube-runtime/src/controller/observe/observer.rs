//! What the runner calls.

use super::{
    failures::Failure,
    name::UniqueName,
    observation::{Observation, Running},
    outcome::{ReconcileOutcome, message_of},
    snapshot::ControllerState,
};
use crate::{
    controller::{action::Action, error::Error, request::ReconcileReason},
    queue::Queue,
    reflector::ObjectKey,
    watcher::WatchRegistry,
};
use std::{error::Error as StdError, hash::Hash, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Notes what the runner does. When it is dropped, the controller has ended.
///
/// Each call costs one lock that is held for a few assignments, and nothing if the controller is not observed.
#[derive(Debug, Default)]
pub(in crate::controller) struct Observer(Option<Active>);

#[derive(Debug)]
struct Active {
    observation: Arc<Observation>,
    /// Kept until the controller has ended.
    _name: UniqueName,
}

impl Observer {
    /// Observes a controller of this name that starts to run.
    pub(in crate::controller) fn start(
        observation: Arc<Observation>,
        name: &str,
        max_concurrent: u16,
    ) -> Self {
        let name = UniqueName::reserve(name);
        let mut facts = observation.facts.lock();
        facts.name = Arc::clone(name.get());
        facts.max_concurrent = max_concurrent;
        drop(facts);
        Self(Some(Active { observation, _name: name }))
    }

    /// Where the watches of the controller are registered.
    pub(in crate::controller) fn watches(&self) -> Option<Arc<WatchRegistry>> {
        self.0.as_ref().map(|active| Arc::clone(&active.observation.watches))
    }

    /// The runner waits for an event: every key that may start has started.
    pub(in crate::controller) fn waiting<K: Eq + Hash + Clone, P>(
        &self,
        state: ControllerState,
        queue: &Queue<K, P>,
    ) {
        let Some(Active { observation, .. }) = &self.0 else { return };
        let numbers = queue.numbers();
        let mut facts = observation.facts.lock();
        facts.state = state;
        facts.queue = numbers;
    }

    /// A reconcile starts, after its object was due for `waited`.
    pub(in crate::controller) fn started(
        &self,
        key: &Arc<ObjectKey>,
        reason: &ReconcileReason,
        attempt: u32,
        waited: Duration,
    ) {
        let Some(Active { observation, .. }) = &self.0 else { return };
        let running = Running { started: Instant::now(), reason: reason.clone(), attempt, waited };
        observation.facts.lock().running.insert(Arc::clone(key), Arc::new(running));
    }

    /// A reconcile has ended. Returns how.
    pub(in crate::controller) fn finished<E: StdError + 'static, Q: StdError + 'static>(
        &self,
        key: &Arc<ObjectKey>,
        action: &Action,
        error: Option<&Error<E, Q>>,
    ) -> ReconcileOutcome {
        let outcome = ReconcileOutcome::of(action, error);
        let Some(Active { observation, .. }) = &self.0 else { return outcome };
        let message = error.map(message_of);
        let now = Instant::now();
        let mut facts = observation.facts.lock();
        let attempt = facts.running.remove(key).map_or(1, |running| running.attempt);
        facts.totals.count(outcome, action);
        match message.filter(|_| outcome.is_failure()) {
            Some(message) => {
                let failure = Failure { at: now, outcome: outcome.as_str(), message, attempt };
                facts.failures.failed(Arc::clone(key), failure);
            }
            None => facts.failures.forget(key),
        }
        outcome
    }

    /// An object that was to be reconciled does not exist.
    pub(in crate::controller) fn gone(&self, key: &ObjectKey) {
        if let Some(Active { observation, .. }) = &self.0 {
            observation.facts.lock().failures.forget(key);
        }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        let mut facts = self.observation.facts.lock();
        facts.state = ControllerState::Stopped;
        facts.queue = Default::default();
        let running = std::mem::take(&mut facts.running);
        let cache = facts.cache.take();
        drop(facts);
        drop((running, cache)); // not under the lock: they may own much
    }
}
