//! What waits for one subscriber.
//!
//! `tests/loom.rs` includes this file with other `locks`, and tries every order of events.

use super::locks::Mutex;
use ahash::AHashMap;
use std::{
    collections::{VecDeque, hash_map::Entry},
    hash::Hash,
    task::{Context, Poll, Waker},
};

/// The newest value of each key that a subscriber has not taken yet, in the order of first news.
pub(super) struct Inbox<Key, V>(Mutex<Waiting<Key, V>>);

struct Waiting<Key, V> {
    order: VecDeque<Key>,
    newest: AHashMap<Key, V>,
    waker: Option<Waker>,
    closed: bool,
}

impl<Key: Eq + Hash + Clone, V: Clone> Inbox<Key, V> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Mutex::new(Waiting {
            order: VecDeque::with_capacity(capacity),
            newest: AHashMap::with_capacity(capacity),
            waker: None,
            closed: false,
        }))
    }

    /// Adds values; each replaces one of its key that still waits. Whoever waits is to be woken without a lock: it may poll at
    /// once.
    #[must_use]
    pub(super) fn put(&self, values: impl Iterator<Item = (Key, V)>) -> Option<Waker> {
        let mut waiting = self.0.lock();
        values.for_each(|(key, value)| waiting.put(key, value));
        waiting.waker.take()
    }

    /// Nothing comes any more. Whoever waits is to be woken, as by [`put`](Self::put).
    #[must_use]
    pub(super) fn close(&self) -> Option<Waker> {
        let mut waiting = self.0.lock();
        waiting.closed = true;
        waiting.waker.take()
    }

    /// The next value; `None` when there is none and will be none.
    pub(super) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Option<V>> {
        let mut waiting = self.0.lock();
        match waiting.take() {
            Some(value) => Poll::Ready(Some(value)),
            None if waiting.closed => Poll::Ready(None),
            None => {
                waiting.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Another inbox in which the same waits, in the same order.
    pub(super) fn fork(&self, capacity: usize) -> Self {
        let fork = Self::with_capacity(capacity);
        let waiting = self.0.lock();
        let values =
            waiting.order.iter().filter_map(|key| Some((key.clone(), waiting.newest.get(key)?.clone())));
        drop(fork.put(values)); // nobody waits for it yet
        drop(waiting);
        fork
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().order.len()
    }
}

impl<Key: Eq + Hash + Clone, V> Waiting<Key, V> {
    fn put(&mut self, key: Key, value: V) {
        match self.newest.entry(key) {
            Entry::Occupied(mut waiting) => drop(waiting.insert(value)),
            Entry::Vacant(vacant) => {
                self.order.push_back(vacant.key().clone());
                vacant.insert(value);
            }
        }
    }

    fn take(&mut self) -> Option<V> {
        let key = self.order.pop_front()?;
        self.newest.remove(&key)
    }
}
