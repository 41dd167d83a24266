//! What the runner and the monitors of a controller share.

use super::{
    failures::Failures,
    snapshot::{ControllerState, Totals},
};
use crate::{
    controller::request::ReconcileReason,
    queue::QueueNumbers,
    reflector::{ObjectKey, store::Store},
    watcher::WatchRegistry,
};
use hashbrown::HashMap;
use kube_core::Resource;
use parking_lot::Mutex;
use std::{fmt, hash::Hash, sync::Arc, time::Duration};
use tokio::time::Instant;

/// What is known about a controller.
pub(in crate::controller) struct Observation {
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
    pub(super) running: HashMap<Arc<ObjectKey>, Arc<Running>>,
    pub(super) failures: Failures,
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
}

impl Observation {
    pub(in crate::controller) fn new<K>(name: &str, store: Store<K>) -> Self
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
            running: HashMap::new(),
            failures: Failures::default(),
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
