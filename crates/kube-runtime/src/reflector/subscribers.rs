//! The subscribers of a shared store.
//!
//! `tests/loom.rs` includes this file with loom's locks and tests every interleaving.

use super::inbox::Inbox;
use crate::capacity::release;
use parking_lot::Mutex;
use std::{
    hash::Hash,
    sync::{Arc, Weak},
    task::Waker,
};

/// The inboxes of all subscribers. A dropped inbox is removed when the next value is published, or the next subscriber added.
pub(super) struct Subscribers<Key, V> {
    list: Mutex<SubscriberList<Key, V>>,
    capacity: usize,
}

struct SubscriberList<Key, V> {
    inboxes: Vec<Weak<Inbox<Key, V>>>,
    closed: bool,
    /// Whether it is never closed.
    kept_open: bool,
}

impl<Key: Eq + Hash + Clone, V: Clone> Subscribers<Key, V> {
    /// `capacity` is the initial capacity of each inbox.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            list: Mutex::new(SubscriberList { inboxes: Vec::new(), closed: false, kept_open: false }),
            capacity,
        }
    }

    /// Adds a subscriber that starts with the values `current`. The caller holds the lock of the current values, so that every
    /// change is either in them or published afterwards.
    pub(super) fn add(&self, current: impl Iterator<Item = (Key, V)>) -> Arc<Inbox<Key, V>> {
        let inbox = Arc::new(Inbox::with_capacity(self.capacity));
        drop(inbox.put(current)); // it has no waker yet
        self.list.lock().add(&inbox);
        inbox
    }

    /// Adds a subscriber that starts with the pending values of `inbox`. Nothing is published between the copy and the addition.
    pub(super) fn fork(&self, inbox: &Inbox<Key, V>) -> Arc<Inbox<Key, V>> {
        let mut list = self.list.lock();
        let fork = Arc::new(inbox.fork(self.capacity));
        list.add(&fork);
        fork
    }

    pub(super) fn publish(&self, values: impl Iterator<Item = (Key, V)> + Clone) {
        let mut list = self.list.lock();
        let changed = list.for_each(|inbox| inbox.put(values.clone()));
        drop(list); // a woken task may subscribe at once
        changed.into_iter().for_each(Changed::wake);
    }

    /// Makes [`close`](Self::close) do nothing.
    pub(super) fn keep_open(&self) {
        self.list.lock().kept_open = true;
    }

    /// Ends the streams of all current and future subscribers.
    pub(super) fn close(&self) {
        let mut list = self.list.lock();
        if list.kept_open {
            return;
        }
        list.closed = true;
        let changed = list.for_each(Inbox::close);
        drop(list);
        changed.into_iter().for_each(Changed::wake);
    }
}

impl<Key: Eq + Hash + Clone, V: Clone> SubscriberList<Key, V> {
    fn add(&mut self, inbox: &Arc<Inbox<Key, V>>) {
        if self.closed {
            drop(inbox.close()); // it has no waker yet
        }
        self.remove_dropped();
        self.inboxes.push(Arc::downgrade(inbox));
    }

    /// Calls `change` for every inbox that still has a subscriber.
    fn for_each(&mut self, change: impl Fn(&Inbox<Key, V>) -> Option<Waker>) -> Vec<Changed<Key, V>> {
        let changed = |inbox: Arc<Inbox<Key, V>>| Changed { waker: change(&inbox), _inbox: inbox };
        let changed: Vec<_> = self.inboxes.iter().filter_map(Weak::upgrade).map(changed).collect();
        if changed.len() < self.inboxes.len() {
            self.remove_dropped();
        }
        changed
    }

    fn remove_dropped(&mut self) {
        self.inboxes.retain(|inbox| inbox.strong_count() > 0);
        release(&mut self.inboxes);
    }
}

/// A changed inbox and the waker of its subscriber. If the subscriber is dropped meanwhile, this is the last reference to the inbox and
/// drops its objects, which may run user code: without the lock.
struct Changed<Key, V> {
    waker: Option<Waker>,
    _inbox: Arc<Inbox<Key, V>>,
}

impl<Key, V> Changed<Key, V> {
    fn wake(self) {
        if let Some(waker) = self.waker {
            waker.wake();
        }
    }
}
