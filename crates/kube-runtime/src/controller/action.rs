//! What a reconciler wants to happen next.

use std::time::Duration;

/// When to reconcile an object again, as far as its reconciler knows.
///
/// Changes of the object and of what it depends on make it run again in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    requeue_after: Option<Duration>,
}

impl Action {
    /// Reconcile again after `duration`, or sooner if something changes.
    ///
    /// Use it where the reconciler depends on what nobody watches. The time counts from the end of the reconcile.
    #[must_use]
    pub const fn requeue(duration: Duration) -> Self {
        Self { requeue_after: Some(duration) }
    }

    /// Reconcile again when something changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self { requeue_after: None }
    }

    pub(super) fn requeue_after(&self) -> Option<Duration> {
        self.requeue_after
    }
}
