//! What shows objects: a store, or a watch whose objects nobody keeps.

use crate::{
    reflector::{
        Lookup, ObjectKey,
        store::{Awaited, Store, StoreWait, WatchProgress},
    },
    watcher::Selected,
};
use std::hash::Hash;

/// What shows objects.
pub(super) trait Shows: Send + Sync {
    /// Whether readers see an object of this uid under this key.
    fn has(&self, key: &ObjectKey, uid: &str) -> bool;

    fn wait_until(&self, key: ObjectKey, awaited: Awaited) -> StoreWait;

    /// The objects that it shows.
    fn selected(&self) -> Selected;

    /// For people.
    fn describe(&self, plural: &str) -> String;
}

impl<K> Shows for Store<K>
where
    K: Lookup<DynamicType: Eq + Hash + Clone + Send + Sync> + Clone + Send + Sync + 'static,
{
    fn has(&self, key: &ObjectKey, uid: &str) -> bool {
        self.uid_of(key).as_deref() == Some(uid)
    }

    fn wait_until(&self, key: ObjectKey, awaited: Awaited) -> StoreWait {
        Store::wait_until(self, key, awaited)
    }

    fn selected(&self) -> Selected {
        Store::selected(self)
    }

    fn describe(&self, plural: &str) -> String {
        format!("the store of {plural}")
    }
}

impl Shows for WatchProgress {
    fn has(&self, _key: &ObjectKey, _uid: &str) -> bool {
        false
    }

    fn wait_until(&self, key: ObjectKey, awaited: Awaited) -> StoreWait {
        WatchProgress::wait_until(self, key, awaited)
    }

    fn selected(&self) -> Selected {
        Selected::all()
    }

    fn describe(&self, plural: &str) -> String {
        format!("the watch of {plural}")
    }
}
