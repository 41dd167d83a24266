//! Tells a backoff behind a stream of watch events what its items cannot: whether the watch has worked.
//!
//! [`StreamBackoff`](crate::utils::StreamBackoff) is for streams of any type and knows only items and errors. But the items of a list
//! prove nothing (a server may list, and refuse every watch), and a watch may work for hours without an item. Adapters poll each
//! other on one stack, so the watcher leaves the answer in a variable of the thread, as tokio does with the budget of a task.

use std::cell::Cell;

/// What a watcher has found out while it was polled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WatchHealth {
    /// A watch has worked: its failures start over.
    pub(crate) proven: bool,
    /// The item is of a list that follows a failure.
    pub(crate) only_listed: bool,
}

thread_local! {
    static HEALTH: Cell<WatchHealth> = const { Cell::new(WatchHealth { proven: false, only_listed: false }) };
}

impl WatchHealth {
    fn and(self, other: Self) -> Self {
        Self { proven: self.proven || other.proven, only_listed: self.only_listed || other.only_listed }
    }

    /// For whoever polls the watcher.
    pub(crate) fn report(self) {
        HEALTH.set(HEALTH.get().and(self));
    }

    /// Polls a stream. Returns also what watchers in it have reported.
    pub(crate) fn observe<T>(poll: impl FnOnce() -> T) -> (T, Self) {
        let before = HEALTH.take();
        let polled = poll();
        let reported = HEALTH.get();
        HEALTH.set(before.and(reported)); // another backoff may be behind this one
        (polled, reported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVEN: WatchHealth = WatchHealth { proven: true, only_listed: false };
    const ONLY_LISTED: WatchHealth = WatchHealth { proven: false, only_listed: true };

    #[test]
    fn each_observer_sees_what_was_reported_below_it_and_only_once() {
        let (inner, outer) = WatchHealth::observe(|| {
            PROVEN.report();
            let ((), inner) = WatchHealth::observe(|| ONLY_LISTED.report());
            inner
        });
        assert_eq!((inner, outer), (ONLY_LISTED, PROVEN.and(ONLY_LISTED)));
        assert_eq!(WatchHealth::observe(|| {}).1, WatchHealth::default());
    }
}
