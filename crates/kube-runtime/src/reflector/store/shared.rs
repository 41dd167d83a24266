//! The state that a writer and its readers share.

use super::{
    awaited::{Awaited, Visible},
    deleted::DeletedObjects,
    watermarks::{HighWatermarks, StartedWait},
};
use crate::{
    capacity::release,
    reflector::{
        Lookup, ObjectKey,
        inbox::Inbox,
        index::{AnyIndex, IndexId},
        indexed_table::IndexedTable,
        published::Published,
        subscribers::Subscribers,
    },
    watcher::Selected,
};
use hashbrown::{HashMap, HashSet};
use kube_client::client::ObjectVersion;
use kube_core::Selector;
use parking_lot::{Mutex, RwLock};
use std::{
    borrow::Borrow,
    hash::Hash,
    sync::{Arc, OnceLock},
};

/// The shared state.
///
/// Each field has a lock of its own. A thread holds one of them at a time, with one exception: while it holds `listed` or `watermarks`, it
/// may take `objects`. So two threads cannot wait for each other. The code of users, such as that of an index, never runs under a lock.
pub(in crate::reflector) struct Shared<K: Lookup> {
    pub(super) dyntype: K::DynamicType,
    /// The visible objects.
    pub(super) objects: Published<IndexedTable<K>, ObjectKey, Arc<K>>,
    /// The objects of the running list, which are not visible yet.
    pub(super) listed: RwLock<Option<IndexedTable<K>>>,
    /// The changed objects of lists that broke off since the last complete one. Their events have triggered reconciles, which must not see
    /// older states than these.
    pub(super) abandoned: RwLock<HashMap<ObjectKey, Arc<K>>>,
    /// The watermarks of the visible objects. Changed after `objects`, so that a woken task finds the object.
    pub(super) watermarks: Arc<SharedWatermarks>,
    /// Objects whose last readable state is retained although a later state exists. If the storage was restored from a backup, the next
    /// readable state may have the same version as the retained one.
    pub(super) outdated: RwLock<HashSet<ObjectKey>>,
    /// Deleted objects that are kept for a while. It has a lock of its own.
    pub(super) deleted: DeletedObjects<K>,
    /// The objects that the watch selects which fills it. Not set for a stream of the program.
    pub(super) selected: OnceLock<Selected>,
    /// Indexes that readers have declared, and that the writer has not added yet.
    pub(in crate::reflector) pending_indexes: Mutex<Vec<Arc<dyn AnyIndex<K>>>>,
}

impl<K: Lookup + 'static> Shared<K> {
    pub(super) fn new(dyntype: K::DynamicType, subscribers: Option<Subscribers<ObjectKey, Arc<K>>>) -> Self {
        Self {
            dyntype,
            objects: Published::new(IndexedTable::default(), subscribers),
            listed: RwLock::new(None),
            abandoned: RwLock::default(),
            watermarks: Arc::default(),
            outdated: RwLock::default(),
            deleted: DeletedObjects::default(),
            selected: OnceLock::new(),
            pending_indexes: Mutex::default(),
        }
    }

    /// The visible object with this key, or the cluster-scoped one with this name.
    pub(in crate::reflector) fn lookup(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
        self.objects.read(|table| table.get(namespace, name).or_else(|| table.get(None, name)).cloned())
    }

    /// The same, in the running list or in one that broke off if these contain it.
    pub(in crate::reflector) fn newest(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let (namespace, name) = (key.namespace.as_deref(), &*key.name);
        let in_list =
            |table: &IndexedTable<K>| table.get(namespace, name).or_else(|| table.get(None, name)).cloned();
        let listed = self.listed.read().as_ref().and_then(in_list);
        listed.or_else(|| self.in_abandoned(namespace, name)).or_else(|| self.lookup(namespace, name))
    }

    /// Whether the newest state with this key has this uid.
    pub(in crate::reflector) fn has_uid(&self, key: &ObjectKey, uid: Option<&str>) -> bool {
        self.newest(key).is_some_and(|object| object.uid().as_deref() == uid)
    }

    /// The object with this key, or the cluster-scoped one with this name, in a list that broke off.
    fn in_abandoned(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
        let abandoned = self.abandoned.read();
        if abandoned.is_empty() {
            return None;
        }
        let get = |namespace: Option<&str>| {
            abandoned.get(&ObjectKey { namespace: namespace.map(Into::into), name: name.into() })
        };
        get(namespace).or_else(|| get(None)).cloned()
    }

    /// The newest state of the object before the running list.
    pub(super) fn newest_before_list(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
        let visible = || self.objects.read(|table| table.get(namespace, name).cloned());
        self.in_abandoned(namespace, name).or_else(visible)
    }

    /// Keeps the changed objects of a list that broke off.
    pub(super) fn abandon(&self, listed: &IndexedTable<K>) {
        let changed = listed.iter().filter(|object| !self.contains(object));
        let changed: Vec<_> = changed.cloned().map(keyed).collect();
        let mut abandoned = self.abandoned.write();
        let replaced: Vec<_> =
            changed.into_iter().filter_map(|(key, object)| abandoned.insert(key, object)).collect();
        drop(abandoned);
        drop(replaced); // without the lock
    }

    /// The visible object, if it has this version.
    pub(super) fn in_version(&self, version: &ObjectVersion<'_>) -> Option<Arc<K>> {
        let (namespace, name) = (version.namespace, version.name);
        let visible = self.objects.read(|table| table.get(namespace, name).cloned())?;
        (is_in_version(&*visible, version) && !self.is_outdated(namespace, name)).then_some(visible)
    }

    /// The visible object, if it has the version of this one.
    pub(in crate::reflector) fn same_version(&self, object: &impl Lookup) -> Option<Arc<K>> {
        let (name, version) = (object.name()?, object.resource_version()?);
        let (namespace, uid) = (object.namespace(), object.uid());
        let (namespace, uid) = (namespace.as_deref(), uid.as_deref());
        self.in_version(&ObjectVersion { namespace, name: &name, uid, resource_version: &version })
    }

    pub(super) fn is_outdated(&self, namespace: Option<&str>, name: &str) -> bool {
        let outdated = self.outdated.read();
        !outdated.is_empty()
            && outdated.contains(&ObjectKey { namespace: namespace.map(Into::into), name: name.into() })
    }

    /// The key of the object, if it is outdated.
    pub(super) fn outdated_key(&self, object: &impl Lookup) -> Option<ObjectKey> {
        if self.outdated.read().is_empty() {
            return None;
        }
        Some(ObjectKey::of(object)).filter(|key| self.outdated.read().contains(key))
    }

    /// Forgets which objects were outdated if they do not exist any more.
    pub(super) fn forget_outdated(&self) {
        let mut outdated = self.outdated.read().clone();
        self.objects.read(|table| {
            outdated.retain(|key| table.get(key.namespace.as_deref(), &key.name).is_some());
        });
        release(&mut outdated);
        // Only the writer, which is here, changes it.
        let before = std::mem::replace(&mut *self.outdated.write(), outdated);
        drop(before); // without the lock
    }

    /// The number of visible objects, or of those of the running list if these are more already.
    pub(in crate::reflector) fn most_objects(&self) -> usize {
        let listed = self.listed.read().as_ref().map_or(0, IndexedTable::len);
        listed.max(self.objects.read(IndexedTable::len))
    }

    /// All visible objects, in no particular order.
    pub(in crate::reflector) fn snapshot(&self) -> Vec<Arc<K>> {
        self.objects.read(|table| table.iter().cloned().collect())
    }

    /// The visible objects, and those that the running list or one that broke off has brought. One may be there twice.
    #[cfg(feature = "compact-cache")]
    pub(in crate::reflector) fn kept(&self) -> Vec<Arc<K>> {
        // The running list first: as in `keys`.
        let mut kept: Vec<Arc<K>> = self.listed.read().iter().flat_map(IndexedTable::iter).cloned().collect();
        kept.extend(self.abandoned.read().values().cloned());
        self.objects.read(|table| kept.extend(table.iter().cloned()));
        kept
    }

    /// The keys of all objects that [`newest`](Self::newest) finds: the visible ones, and those that the running list or one that broke off
    /// has brought.
    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        // The running list first: when it becomes visible meanwhile, its objects are among the visible ones.
        let listed = self.listed.read().as_ref().map(keys_of).unwrap_or_default();
        let abandoned = self.abandoned.read().keys().cloned().collect::<Vec<_>>();
        let mut keys = self.objects.read(keys_of);
        let is_new = |key: &ObjectKey| {
            self.objects.read(|table| table.get(key.namespace.as_deref(), &key.name).is_none())
        };
        keys.extend(listed.into_iter().chain(abandoned).filter(is_new));
        keys
    }

    /// Whether readers see exactly this `Arc`.
    pub(in crate::reflector) fn contains(&self, object: &Arc<K>) -> bool {
        self.objects
            .read(|table| table.get_same_key(object).is_some_and(|visible| Arc::ptr_eq(visible, object)))
    }

    /// Whether an object with the key and uid of this one is visible.
    pub(super) fn has_visible(&self, object: &K) -> bool {
        self.objects
            .read(|table| table.get_same_key(object).is_some_and(|visible| visible.uid() == object.uid()))
    }

    /// The visible objects that the running list does not have, if deleted ones are kept.
    pub(super) fn keep_missing_from_list(&self) {
        if !self.deleted.are_kept() {
            return;
        }
        let listed = self.listed.read();
        let Some(table) = listed.as_ref() else { return };
        let is_missing =
            |object: &&Arc<K>| table.get_same_key(object).is_none_or(|it| it.uid() != object.uid());
        let missing: Vec<_> =
            self.objects.read(|visible| visible.iter().filter(is_missing).cloned().collect());
        drop(listed);
        missing.iter().for_each(|object| self.deleted.add(object));
    }

    /// The visible objects that have this key in this index; `None` if the index was not declared.
    pub(in crate::reflector) fn indexed<T, Q>(&self, index: &IndexId, key: &Q) -> Option<Vec<Arc<K>>>
    where
        T: Borrow<Q> + Eq + Hash + 'static,
        Q: Eq + Hash + ?Sized,
    {
        self.objects.read(|table| {
            let found = table.indexed::<T, Q>(index, key)?;
            Some(found.into_iter().flatten().cloned().collect())
        })
    }

    /// A superset of the visible objects that the selector matches.
    pub(in crate::reflector) fn candidates(&self, selector: &Selector) -> Vec<Arc<K>> {
        let indexed = self.objects.read(|table| Some(table.candidates(selector)?.cloned().collect()));
        indexed.unwrap_or_else(|| self.snapshot())
    }

    /// A subscriber that starts with all visible objects; `None` if there can be no subscribers.
    pub(super) fn subscribe(&self) -> Option<Arc<Inbox<ObjectKey, Arc<K>>>> {
        self.objects.subscribe(|table| {
            let mut current: Vec<_> = table.iter().cloned().collect();
            sort(&mut current);
            current.into_iter().map(keyed)
        })
    }

    /// The uid of the visible object with this key.
    pub(super) fn uid_of(&self, key: &ObjectKey) -> Option<Box<str>> {
        Some(self.lookup(key.namespace.as_deref(), &key.name)?.uid()?.as_ref().into())
    }

    /// Begins a wait for `awaited` of the object with this key.
    pub(super) fn wait(&self, key: ObjectKey, awaited: Awaited) -> (Arc<SharedWatermarks>, StartedWait) {
        let is_met = |key: &_, awaited: &_| self.is_met(key, awaited);
        let wait = self.watermarks.change(|watermarks| watermarks.wait(key, awaited, is_met));
        (Arc::clone(&self.watermarks), wait)
    }

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

fn keys_of<K: Lookup + 'static>(table: &IndexedTable<K>) -> Vec<ObjectKey> {
    table.iter().map(|object| ObjectKey::of(&**object)).collect()
}

pub(super) fn keyed<K: Lookup>(object: Arc<K>) -> (ObjectKey, Arc<K>) {
    (ObjectKey::of(&*object), object)
}

/// Whether the object, which has the namespace and name of this version, has this version. An empty version identifies no state.
fn is_in_version(object: &impl Lookup, version: &ObjectVersion<'_>) -> bool {
    !version.resource_version.is_empty()
        && object.resource_version().as_deref() == Some(version.resource_version)
        && object.uid().as_deref() == version.uid
}

/// Sorts by namespace and name: a hash map's order would not be reproducible in the simulation.
pub(super) fn sort<K: Lookup>(objects: &mut [Arc<K>]) {
    objects
        .sort_unstable_by(|one, other| (one.namespace(), one.name()).cmp(&(other.namespace(), other.name())));
}
