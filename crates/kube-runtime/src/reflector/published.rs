//! A value that readers see, and subscribers are told the changes of.
//!
//! `tests/loom.rs` includes this file with other `locks`, and tries every order of events.

use super::{inbox::Inbox, locks::RwLock, registry::Registry};
use std::{hash::Hash, sync::Arc};

/// A value behind a lock, and who is told of its changes, if anybody may subscribe.
///
/// Nothing that users wrote runs under the lock: every function that is handed in here is short and of this crate. Waiting writers
/// are not overtaken by new readers, so a reader must not read again while it reads.
pub(super) struct Published<T, Key, V> {
    value: RwLock<T>,
    subscribers: Option<Registry<Key, V>>,
}

impl<T, Key: Eq + Hash + Clone, V: Clone> Published<T, Key, V> {
    pub(super) fn new(value: T, subscribers: Option<Registry<Key, V>>) -> Self {
        Self { value: RwLock::new(value), subscribers }
    }

    pub(super) fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.value.read())
    }

    /// Changes what readers see. What `change` returns is dropped by the caller, without the lock.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.value.write())
    }

    /// Tells subscribers of values that readers see already.
    pub(super) fn publish(&self, values: impl Iterator<Item = (Key, V)> + Clone) {
        if let Some(subscribers) = &self.subscribers {
            subscribers.publish(values);
        }
    }

    pub(super) fn is_shared(&self) -> bool {
        self.subscribers.is_some()
    }

    /// A subscriber who begins with `present`. Every change is either in that or published to the subscriber afterwards.
    pub(super) fn subscribe<I: Iterator<Item = (Key, V)>>(
        &self,
        present: impl FnOnce(&T) -> I,
    ) -> Option<Arc<Inbox<Key, V>>> {
        let subscribers = self.subscribers.as_ref()?;
        let value = self.value.read(); // until the subscriber is registered
        Some(subscribers.add(present(&value)))
    }

    /// A subscriber who begins with what waits for another one. Every change is either in that or published to both.
    pub(super) fn fork(&self, inbox: &Inbox<Key, V>) -> Option<Arc<Inbox<Key, V>>> {
        Some(self.subscribers.as_ref()?.fork(inbox))
    }

    /// Ends the streams of all who subscribe, now or later.
    pub(super) fn close(&self) {
        if let Some(subscribers) = &self.subscribers {
            subscribers.close();
        }
    }
}
