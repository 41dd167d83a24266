//! The state that a writer and its readers share.

use super::watermarks::{Awaited, HighWatermarks, Visible};
use crate::reflector::{
    Lookup, ObjectKey, index::AnyIndex, indexed_table::IndexedTable, published::Published,
};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

/// The shared state.
///
/// No two locks are held at the same time, except `listed` or `watermarks` while `objects` is locked. No user code runs while a
/// lock is held.
pub(super) struct Shared<K: Lookup> {
    pub(super) dyntype: K::DynamicType,
    /// The visible objects.
    pub(super) objects: Published<IndexedTable<K>, ObjectKey, Arc<K>>,
    /// The objects of the running list, which are not visible yet.
    pub(super) listed: RwLock<Option<IndexedTable<K>>>,
    /// The watermarks of the visible objects. Changed after `objects`, so that a woken task finds the object.
    pub(super) watermarks: Arc<SharedWatermarks>,
    /// Indexes that readers have declared, and that the writer has not added yet.
    pub(super) pending_indexes: Mutex<Vec<Arc<dyn AnyIndex<K>>>>,
}

impl<K: Lookup + 'static> Shared<K> {
    /// Whether the visible state of the object ends a wait.
    pub(super) fn is_met(&self, key: &ObjectKey, awaited: &Awaited) -> bool {
        self.objects.read(|table| match table.get(key.namespace.as_deref(), &key.name) {
            Some(object) => {
                let (uid, version) = (object.uid(), object.resource_version());
                awaited.is_met(Some(Visible { uid: uid.as_deref(), version: version.as_deref() }))
            }
            None => awaited.is_met(None),
        })
    }
}

/// High watermarks behind a lock.
#[derive(Debug, Default)]
pub(super) struct SharedWatermarks(Mutex<HighWatermarks>);

impl SharedWatermarks {
    /// Calls `change` under the lock, and then wakes the waits that ended without it.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut HighWatermarks) -> R) -> R {
        let mut watermarks = self.0.lock();
        let result = change(&mut watermarks);
        let ended = watermarks.take_ended();
        drop(watermarks);
        ended.wake();
        result
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().is_closed()
    }

    #[cfg(test)]
    pub(super) fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

pub(super) fn keyed<K: Lookup>(object: Arc<K>) -> (ObjectKey, Arc<K>) {
    (ObjectKey::of(&*object), object)
}

/// Whether uid and resourceVersion are the same.
pub(super) fn same_state<K: Lookup>(one: &K, other: &K) -> bool {
    let version = one.resource_version();
    version.is_some() && version == other.resource_version() && one.uid() == other.uid()
}

/// Sorts by namespace and name: a hash map's order would not be reproducible in the simulation.
pub(super) fn sort<K: Lookup>(objects: &mut [Arc<K>]) {
    objects
        .sort_unstable_by(|one, other| (one.namespace(), one.name()).cmp(&(other.namespace(), other.name())));
}
