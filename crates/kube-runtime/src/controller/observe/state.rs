//! The state of a controller that the runner keeps up to date and monitors read.

use super::{failures::Failures, lanes::LaneSample, outcome::ReconcileOutcome};
use crate::{
    controller::reconcile::{Action, ReconcileReason},
    queue::QueueNumbers,
    reflector::{ObjectKey, store::Store},
    watcher::WatchRegistry,
};
use hashbrown::HashMap;
use kube_core::Resource;
use parking_lot::Mutex;
use serde::Serialize;
use std::{fmt, hash::Hash, sync::Arc, time::Duration};
use tokio::time::Instant;

/// What is known about a controller.
pub(crate) struct Observation {
    pub(super) kind: String,
    pub(super) watches: Arc<WatchRegistry>,
    pub(super) facts: Mutex<Facts>,
}

/// The parts that change. Its lock is held for a few assignments, and never while user code runs.
pub(super) struct Facts {
    pub(super) name: Arc<str>,
    pub(super) state: ControllerState,
    /// The store, until the controller has ended.
    pub(super) cache: Option<Arc<dyn Cache>>,
    /// The limit of concurrent reconciles; 0 if there is none.
    pub(super) max_concurrent: u16,
    pub(super) queue: QueueNumbers,
    /// Of a fair queue.
    pub(super) lanes: LaneSample,
    pub(super) running: HashMap<Arc<ObjectKey>, Arc<Running>>,
    pub(super) failures: Failures,
    /// The name and the message of the first source that panicked.
    pub(super) panicked_source: Option<(String, String)>,
    pub(super) totals: Totals,
}

/// A running reconcile.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) started: Instant,
    pub(super) reason: ReconcileReason,
    pub(super) attempt: u32,
    /// How long the object was due before.
    pub(super) waited: Duration,
}

/// A store of any kind.
pub(super) trait Cache: Send + Sync {
    fn is_ready(&self) -> bool;
    fn objects(&self) -> usize;
    /// Whether it has the object with this key and uid, or may have it: a store that is not ready says nothing.
    fn may_have(&self, key: &ObjectKey, uid: Option<&str>) -> bool;
}

impl<K> Cache for Store<K>
where
    K: Resource<DynamicType: Eq + Hash + Clone> + Clone + Send + Sync + 'static,
{
    fn is_ready(&self) -> bool {
        Store::is_ready(self)
    }

    fn objects(&self) -> usize {
        self.len()
    }

    fn may_have(&self, key: &ObjectKey, uid: Option<&str>) -> bool {
        !Store::is_ready(self) || self.has_uid(key, uid)
    }
}

impl Observation {
    pub(crate) fn new<K>(name: &str, store: Store<K>) -> Self
    where
        K: Resource<DynamicType: Eq + Hash + Clone> + Clone + Send + Sync + 'static,
    {
        let kind = K::kind(store.dyntype()).into_owned();
        let facts = Facts {
            name: name.into(),
            state: ControllerState::NotStarted,
            cache: Some(Arc::new(store)),
            max_concurrent: 0,
            queue: QueueNumbers::default(),
            lanes: LaneSample::default(),
            running: HashMap::new(),
            failures: Failures::default(),
            panicked_source: None,
            totals: Totals::default(),
        };
        Self { kind, watches: Arc::default(), facts: Mutex::new(facts) }
    }
}

impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = self.facts.lock();
        f.debug_struct("Observation").field("name", &facts.name).field("state", &facts.state).finish()
    }
}

/// What a controller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ControllerState {
    /// It was not run, or its output was not polled.
    NotStarted,
    /// It waits for its first lists.
    Syncing,
    /// Its cache is kept in sync, but no reconcile may start: nothing is assigned to it, such as in a replica that does not lead.
    Standby,
    /// It reconciles.
    Running,
    /// It shuts down: running reconciles finish.
    Stopping,
    /// It has ended, or its output was dropped.
    Stopped,
}

/// Counts since the start of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Reconciles that succeeded and requested nothing else.
    pub success: u64,
    /// Reconciles that succeeded and requested a [retry](crate::controller::Action::retry).
    pub requeue: u64,
    /// Reconciles that succeeded and requested a [requeue](crate::controller::Action::requeue).
    pub requeue_after: u64,
    /// Reconciles that failed, panics and timeouts included.
    pub error: u64,
    /// Reconciles that panicked.
    pub panics: u64,
    /// Reconciles that exceeded the [timeout](crate::Config::timeout).
    pub timeouts: u64,
    /// Reconciles that were cancelled because another replica reconciles their objects.
    pub revoked: u64,
    /// Objects that were queued with a backoff, or after a failure.
    pub retries: u64,
}

impl Totals {
    pub(super) fn count(&mut self, outcome: ReconcileOutcome, action: &Action) {
        use ReconcileOutcome as O;
        match outcome {
            O::Success => self.success += 1,
            O::Requeue => self.requeue += 1,
            O::RequeueAfter => self.requeue_after += 1,
            O::Error | O::Panicked | O::TimedOut => self.error += 1,
            O::Revoked => self.revoked += 1,
        }
        self.panics += u64::from(outcome == O::Panicked);
        self.timeouts += u64::from(outcome == O::TimedOut);
        self.retries += u64::from(outcome.is_retry(action));
    }
}
