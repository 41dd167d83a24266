//! Whether a watch works, so that reconciles do not wait again and again for one that does not.

use crate::watcher::CollectionEvent;
use std::sync::atomic::{AtomicBool, Ordering};

/// Of the watches that fill a store, or of one whose objects nobody keeps.
#[derive(Debug, Default)]
pub(crate) struct WatchHealth {
    /// Whether the last that it brought was an error.
    fails: AtomicBool,
    /// Whether a reconcile has waited for it in vain since it brought anything.
    is_late: AtomicBool,
}

impl WatchHealth {
    /// The watch brought an event, or an error.
    pub(crate) fn observe<T, E>(&self, item: &Result<CollectionEvent<T>, E>) {
        match item {
            Ok(CollectionEvent::Init) => {} // the list has yet to come
            Ok(_) => self.worked(),
            Err(_) => self.failed(),
        }
    }

    pub(crate) fn worked(&self) {
        self.fails.store(false, Ordering::Relaxed);
        self.is_late.store(false, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.fails.store(true, Ordering::Relaxed);
    }

    /// A reconcile has waited for it in vain. Returns whether it is the first one.
    pub(super) fn was_late(&self) -> bool {
        !self.is_late.swap(true, Ordering::Relaxed)
    }

    /// Whether it fails, and somebody has waited for it in vain. One that is slow is waited for each time.
    pub(super) fn is_given_up(&self) -> bool {
        self.fails.load(Ordering::Relaxed) && self.is_late.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_is_given_up_if_it_fails_and_was_late_until_it_works_again() {
        let health = WatchHealth::default();
        let event = |event| health.observe(&Ok::<CollectionEvent<()>, ()>(event));
        assert!(health.was_late() && !health.was_late() && !health.is_given_up(), "slow");
        health.failed();
        assert!(health.is_given_up());
        event(CollectionEvent::Init);
        assert!(health.is_given_up(), "it tries again");
        event(CollectionEvent::Synced { resource_version: "1".into() });
        assert!(!health.is_given_up());
        health.failed();
        assert!(!health.is_given_up() && health.was_late() && health.is_given_up());
    }
}
