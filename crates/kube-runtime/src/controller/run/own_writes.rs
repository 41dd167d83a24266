//! What the runner does about the writes of reconciles: holds objects back until they are shown, and drops the changes that they make.

use crate::{
    controller::{
        config::Config,
        observe::log,
        reconcile::{Action, ReconcileReason, Requeue},
        scope::{Coverage, OwnChanges, ShownState, WritesShown},
    },
    queue::Priority,
    reflector::{ObjectKey, store::Store},
};
use kube_core::{Resource, reconcile::OwnWrite};
use std::{hash::Hash, sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long a change that a reconcile made is known as its own. One that arrives later triggers.
const OWN_CHANGES_KEPT: Duration = Duration::from_secs(60);

/// What a trigger requests.
type Request = (ReconcileReason, Priority);

/// See [`Coverage`] and [`OwnChanges`].
pub(super) struct OwnWrites {
    /// What shows the writes. Empty if nobody waits for that.
    coverage: Coverage,
    /// `None` if own changes trigger like all others.
    changes: Option<OwnChanges<Request>>,
    /// Whether to wait for the writes that actions name.
    waits: bool,
}

impl OwnWrites {
    pub(super) fn new(config: &Config) -> Self {
        let changes = config.skips_own_writes().then(|| OwnChanges::new(OWN_CHANGES_KEPT));
        Self { coverage: Coverage::default(), changes, waits: !config.max_write_wait().is_zero() }
    }

    pub(super) fn covered_by(&mut self, coverage: Coverage) {
        self.coverage = coverage;
    }

    /// A reconcile starts.
    pub(super) fn started(&mut self, key: &Arc<ObjectKey>) {
        if let Some(changes) = &mut self.changes {
            changes.started(key);
        }
    }

    /// What a trigger requests now, which may be about a change.
    pub(super) fn triggered(
        &mut self,
        key: &ObjectKey,
        change: Option<Box<ShownState>>,
        request: Request,
    ) -> Option<Request> {
        match (&mut self.changes, change) {
            (Some(changes), Some(change)) => changes.arrived(key, *change, request, Instant::now()),
            _ => Some(request),
        }
    }

    /// What the changes request that arrived during a reconcile, and when they did, unless its writes made them.
    pub(super) fn finished(&mut self, key: &Arc<ObjectKey>, writes: &[OwnWrite]) -> Vec<(Request, Instant)> {
        let changes = self.changes.as_mut();
        changes.map(|changes| changes.finished(key, writes, Instant::now())).unwrap_or_default()
    }

    /// When the action requeues the object.
    pub(super) fn next_run(&self, action: &Action) -> Requeue {
        match action.next_run() {
            // The event of the write, which would go on, triggers nothing.
            Requeue::Never if action.continues() && self.changes.is_some() => match self.waits {
                true => Requeue::After(Duration::ZERO),
                // The store may not show the write yet: the same write again, as fast as the server responds.
                false => Requeue::WithBackoff,
            },
            next_run => next_run,
        }
    }

    /// A wait until the store shows the write that the action names, and everything that covers them the `writes`.
    pub(super) fn shown<K>(
        &self,
        writes: &[OwnWrite],
        action: &Action,
        (key, object): (&ObjectKey, &K),
        store: &Store<K>,
    ) -> WritesShown
    where
        K: Resource<DynamicType: Eq + Hash + Clone> + Clone + 'static,
    {
        let mut shown = self.coverage.shown(writes);
        if let Some(write) = action.write().filter(|_| self.waits) {
            match write.awaited_after(object, store.dyntype()) {
                Some(awaited) => shown.add_wait(store.wait_until(key.clone(), awaited)),
                None => log::foreign_write(),
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_zero_disables_waiting() {
        let waits = |longest| OwnWrites::new(&Config::default().write_wait(longest)).waits;
        assert!(!waits(Duration::ZERO) && waits(Duration::from_nanos(1)));
        let own = Config::default().wait_for_own_writes(true);
        assert!(own.waits_for_own_writes() && !own.write_wait(Duration::ZERO).waits_for_own_writes());
    }
}
