//! The queue of one subscriber, which keeps only the newest value of each key.
//!
//! `tests/loom.rs` includes this file with loom's locks and tests every interleaving.

use crate::capacity::release;
use hashbrown::{HashMap, hash_map::Entry};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    hash::Hash,
    task::{Context, Poll, Waker},
};

/// The newest pending value of each key, in the order in which the keys became pending.
pub(super) struct Inbox<Key, V>(Mutex<Pending<Key, V>>);

struct Pending<Key, V> {
    order: VecDeque<Key>,
    newest: HashMap<Key, V>,
    waker: Option<Waker>,
    closed: bool,
}

impl<Key: Eq + Hash + Clone, V: Clone> Inbox<Key, V> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Mutex::new(Pending {
            order: VecDeque::with_capacity(capacity),
            newest: HashMap::with_capacity(capacity),
            waker: None,
            closed: false,
        }))
    }

    /// Adds values. A value replaces a pending one with the same key. The caller has to wake the returned waker without a lock,
    /// because a woken task may poll at once.
    #[must_use]
    pub(super) fn put(&self, values: impl Iterator<Item = (Key, V)>) -> Option<Waker> {
        let mut pending = self.0.lock();
        values.for_each(|(key, value)| pending.put(key, value));
        pending.waker.take()
    }

    /// Ends the stream after the pending values. The waker is as for [`put`](Self::put).
    #[must_use]
    pub(super) fn close(&self) -> Option<Waker> {
        let mut pending = self.0.lock();
        pending.closed = true;
        pending.waker.take()
    }

    /// The next value; `None` after the last one of a closed inbox.
    pub(super) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Option<V>> {
        let mut pending = self.0.lock();
        if let Some(value) = pending.take() {
            return Poll::Ready(Some(value));
        }
        if pending.closed {
            return Poll::Ready(None);
        }
        // Cloning and dropping a waker runs code of its executor, so the replaced one is dropped without the lock.
        let replaced = pending.waker.replace(cx.waker().clone());
        drop(pending);
        drop(replaced);
        Poll::Pending
    }

    /// A new inbox with the same pending values, in the same order.
    pub(super) fn fork(&self, capacity: usize) -> Self {
        let fork = Self::with_capacity(capacity);
        let pending = self.0.lock();
        let values =
            pending.order.iter().filter_map(|key| Some((key.clone(), pending.newest.get(key)?.clone())));
        drop(fork.put(values)); // it has no waker yet
        drop(pending);
        fork
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().order.len()
    }
}

impl<Key: Eq + Hash + Clone, V> Pending<Key, V> {
    fn put(&mut self, key: Key, value: V) {
        match self.newest.entry(key) {
            Entry::Occupied(mut pending) => drop(pending.insert(value)),
            Entry::Vacant(vacant) => {
                self.order.push_back(vacant.key().clone());
                vacant.insert(value);
            }
        }
    }

    fn take(&mut self) -> Option<V> {
        let key = self.order.pop_front()?;
        let value = self.newest.remove(&key);
        release(&mut self.order);
        release(&mut self.newest);
        value
    }
}
