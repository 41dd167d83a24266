//! Who is told of changes.
//!
//! `tests/loom.rs` includes this file with other `locks`, and tries every order of events.

use super::{inbox::Inbox, locks::Mutex};
use std::{
    hash::Hash,
    sync::{Arc, Weak},
    task::Waker,
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
        drop(inbox.put(present)); // nobody waits for it yet
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
        let registered = self.registered.lock();
        let wakers = registered.tell(|inbox| inbox.put(values.clone()));
        drop(registered); // who is woken may subscribe at once
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ends the streams of all who subscribe, now or later.
    pub(super) fn close(&self) {
        let mut registered = self.registered.lock();
        registered.closed = true;
        let wakers = registered.tell(Inbox::close);
        drop(registered);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl<Key: Eq + Hash + Clone, V: Clone> Registered<Key, V> {
    fn add(&mut self, inbox: &Arc<Inbox<Key, V>>) {
        if self.closed {
            drop(inbox.close()); // nobody waits for it yet
        }
        self.inboxes.retain(|inbox| inbox.strong_count() > 0);
        self.inboxes.push(Arc::downgrade(inbox));
    }

    /// Tells every inbox, and returns who waits for that.
    fn tell(&self, tell: impl Fn(&Inbox<Key, V>) -> Option<Waker>) -> Vec<Waker> {
        self.inboxes.iter().filter_map(|inbox| tell(&*inbox.upgrade()?)).collect()
    }
}
