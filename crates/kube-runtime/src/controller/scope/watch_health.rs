//! Whether a watch works, so that reconciles do not wait again and again for one that does not.

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
    /// The watch brought an event, or an error. `begins` tells the event before a list, which has yet to come.
    pub(crate) fn observe<T, E>(&self, item: &Result<T, E>, begins: impl FnOnce(&T) -> bool) {
        match item {
            Ok(event) if begins(event) => {}
            Ok(_) => {
                self.fails.store(false, Ordering::Relaxed);
                self.is_late.store(false, Ordering::Relaxed);
            }
            Err(_) => self.fails.store(true, Ordering::Relaxed),
        }
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
    use crate::watcher::Event;

    #[test]
    fn a_watch_is_given_up_if_it_fails_and_was_late_until_it_works_again() {
        let health = WatchHealth::default();
        let observe =
            |item: Result<Event<()>, ()>| health.observe(&item, |event| matches!(event, Event::Init));
        assert!(health.was_late() && !health.was_late() && !health.is_given_up(), "slow");
        observe(Err(()));
        assert!(health.is_given_up());
        observe(Ok(Event::Init));
        assert!(health.is_given_up(), "it tries again");
        observe(Ok(Event::InitDone));
        assert!(!health.is_given_up());
        observe(Err(()));
        assert!(!health.is_given_up() && health.was_late() && health.is_given_up());
    }
}
