//! A value with readers, and subscribers to its changes.
//!
//! `tests/loom.rs` includes this file with loom's locks and tests every interleaving.

use super::{inbox::Inbox, subscribers::Subscribers};
use parking_lot::RwLock;
use std::{hash::Hash, sync::Arc};

/// A value behind a lock, and the subscribers to its changes, if the value is shared.
///
/// No user code may run under the lock. A waiting writer blocks new readers, so a nested read deadlocks.
pub(super) struct Published<T, Key, V> {
    value: RwLock<T>,
    subscribers: Option<Subscribers<Key, V>>,
}

impl<T, Key: Eq + Hash + Clone, V: Clone> Published<T, Key, V> {
    pub(super) fn new(value: T, subscribers: Option<Subscribers<Key, V>>) -> Self {
        Self { value: RwLock::new(value), subscribers }
    }

    pub(super) fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.value.read())
    }

    /// Changes the value. `change` returns the values that it replaced, so that the caller drops them without the lock.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.value.write())
    }

    /// Sends values to the subscribers. Readers must see them already.
    pub(super) fn publish(&self, values: impl Iterator<Item = (Key, V)> + Clone) {
        if let Some(subscribers) = &self.subscribers {
            subscribers.publish(values);
        }
    }

    pub(super) fn is_shared(&self) -> bool {
        self.subscribers.is_some()
    }

    /// Adds a subscriber that starts with the values `current` returns. Every change is either in them or published afterwards.
    pub(super) fn subscribe<I: Iterator<Item = (Key, V)>>(
        &self,
        current: impl FnOnce(&T) -> I,
    ) -> Option<Arc<Inbox<Key, V>>> {
        let subscribers = self.subscribers.as_ref()?;
        let value = self.value.read(); // held until the subscriber is added
        Some(subscribers.add(current(&value)))
    }

    /// Adds a subscriber that starts with the pending values of another one. Later changes are published to both.
    pub(super) fn fork(&self, inbox: &Inbox<Key, V>) -> Option<Arc<Inbox<Key, V>>> {
        Some(self.subscribers.as_ref()?.fork(inbox))
    }

    /// Makes [`close`](Self::close) do nothing.
    pub(super) fn keep_open(&self) {
        if let Some(subscribers) = &self.subscribers {
            subscribers.keep_open();
        }
    }

    /// Ends the streams of all current and future subscribers.
    pub(super) fn close(&self) {
        if let Some(subscribers) = &self.subscribers {
            subscribers.close();
        }
    }
}
