//! What a reconciler wants to happen next.

use std::time::Duration;

/// When to reconcile an object again, as far as its reconciler knows.
///
/// Changes of the object and of what it depends on make it run again in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action(Again);

/// What an action says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    OnChange,
    After(Duration),
    BackingOff,
}

impl Action {
    /// Reconcile again after `duration`, or sooner if something changes.
    ///
    /// Use it where the reconciler depends on what nobody watches. The time counts from the end of the reconcile.
    #[must_use]
    pub const fn requeue(duration: Duration) -> Self {
        Self(Again::After(duration))
    }

    /// Reconcile again when something changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self(Again::OnChange)
    }

    /// Reconcile again after a time that doubles with each retry of the same object, or sooner if something changes.
    ///
    /// What an error policy usually wants. The times are those of [`Config::backoff`](super::Config::backoff), and
    /// start over after any other action.
    #[must_use]
    pub const fn retry() -> Self {
        Self(Again::BackingOff)
    }

    pub(super) const fn again(&self) -> Again {
        self.0
    }
}
