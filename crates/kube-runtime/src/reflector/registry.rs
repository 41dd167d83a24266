//! Who is told of changes.
//!
//! `tests/loom.rs` includes this file with other `locks`, and tries every order of events.

use super::{inbox::Inbox, locks::Mutex};
use std::{
    hash::Hash,
    sync::{Arc, Weak},
};

/// The inboxes of all subscribers. One that is dropped leaves by itself.
pub(super) struct Registry<Key, V> {
    registered: Mutex<Registered<Key, V>>,
    capacity: usize,
}

struct Registered<Key, V> {
    inboxes: Vec<Weak<Inbox<Key, V>>>,
    closed: bool,
}

impl<Key: Eq + Hash + Clone, V: Clone> Registry<Key, V> {
    /// Each subscriber has room for so many values from the start.
    pub(super) fn new(capacity: usize) -> Self {
        Self { registered: Mutex::new(Registered { inboxes: Vec::new(), closed: false }), capacity }
    }

    /// A subscriber who begins with `present`. Whoever calls this keeps what is present from changing meanwhile, so
    /// that every change is either in it or published afterwards.
    pub(super) fn add(&self, present: impl Iterator<Item = (Key, V)>) -> Arc<Inbox<Key, V>> {
        let inbox = Arc::new(Inbox::with_capacity(self.capacity));
        inbox.put(present);
        self.registered.lock().add(&inbox);
        inbox
    }

    /// A subscriber who begins with what waits for `inbox`. Nothing is published between the copy and the registration.
    pub(super) fn fork(&self, inbox: &Inbox<Key, V>) -> Arc<Inbox<Key, V>> {
        let mut registered = self.registered.lock();
        let fork = Arc::new(inbox.fork(self.capacity));
        registered.add(&fork);
        fork
    }

    pub(super) fn publish(&self, values: impl Iterator<Item = (Key, V)> + Clone) {
        for inbox in self.registered.lock().inboxes.iter().filter_map(Weak::upgrade) {
            inbox.put(values.clone());
        }
    }

    /// Ends the streams of all who subscribe, now or later.
    pub(super) fn close(&self) {
        let mut registered = self.registered.lock();
        registered.closed = true;
        registered.inboxes.iter().filter_map(Weak::upgrade).for_each(|inbox| inbox.close());
    }
}

impl<Key: Eq + Hash + Clone, V: Clone> Registered<Key, V> {
    fn add(&mut self, inbox: &Arc<Inbox<Key, V>>) {
        if self.closed {
            inbox.close();
        }
        self.inboxes.retain(|inbox| inbox.strong_count() > 0);
        self.inboxes.push(Arc::downgrade(inbox));
    }
}
