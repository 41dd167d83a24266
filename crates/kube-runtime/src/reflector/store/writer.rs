//! [`Writer`]: applies the events of a watch to a store.

use super::{
    awaited::Visible,
    reader::{Cache, Store},
    shared::{Shared, SharedWatermarks, keyed, sort},
    subscription::ReflectHandle,
    watermarks::ListVersion,
    writer_indexes::WriterIndexes,
};
use crate::{
    capacity::release,
    reflector::{
        Index, Lookup, ObjectKey, compact::CompactCache, index::IndexPanic, indexed_table::IndexedTable,
        subscribers::Subscribers,
    },
    version::parse,
    watcher::{CollectionEvent, Event, Selected, UndecodableObject},
};
use std::{fmt, hash::Hash, sync::Arc};
use tokio::sync::watch;

/// A new store and the writer that fills it.
///
/// The store is empty until the writer has received a complete list: see [`Store::wait_until_ready`].
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::{reflector, watcher::Event};
///
/// let (store, mut writer) = reflector::store::<ConfigMap>();
/// for event in [Event::Init, Event::InitApply(ConfigMap::default()), Event::InitDone] {
///     assert!(store.is_empty(), "a list becomes visible atomically");
///     writer.apply_watcher_event(&event);
/// }
/// assert_eq!(store.len(), 1);
/// ```
#[must_use]
pub fn store<K>() -> (Store<K>, Writer<K>)
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone + Default,
{
    let writer = Writer::default();
    (writer.as_reader(), writer)
}

/// Like [`store`], with a writer that can be [subscribed](Writer::subscribe) to.
///
/// `buf_size` is the initial capacity of each subscriber's queue, in objects. The queue grows as needed.
///
/// ```
/// use futures::{StreamExt, executor::block_on};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::{reflector, watcher::Event};
///
/// let (_, mut writer) = reflector::store_shared::<ConfigMap>(16);
/// let subscribers = [writer.subscribe(), writer.subscribe()];
/// writer.apply_watcher_event(&Event::Apply(ConfigMap::default()));
/// drop(writer);
/// for objects in subscribers.into_iter().flatten() {
///     assert_eq!(block_on(objects.count()), 1);
/// }
/// ```
#[must_use]
pub fn store_shared<K>(buf_size: usize) -> (Store<K>, Writer<K>)
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone + Default,
{
    let writer = Writer::new_shared(buf_size, K::DynamicType::default());
    (writer.as_reader(), writer)
}

/// Fills a cache, which any number of [`Store`]s read. A cache has one writer.
pub struct Writer<K: 'static + Lookup + Clone>
where
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) shared: Arc<Shared<K>>,
    ready: watch::Sender<bool>,
    pub(super) indexes: WriterIndexes<K>,
    running_list: Option<RunningList>,
    /// Whether the storage went back since the last complete list, as an error of the stream of events or an object of the running list
    /// has shown.
    pub(super) history_lost: bool,
}

#[derive(Default)]
struct RunningList {
    /// The highest version of its objects so far.
    highest: Option<u128>,
    /// Its objects that are outdated as long as it is not visible.
    readable: Vec<ObjectKey>,
}

impl<K: 'static + Lookup + Clone> Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// The writer of a new cache for a kind known only at run time. See also [`store`].
    pub fn new(dyntype: K::DynamicType) -> Self {
        Self::with(dyntype, None)
    }

    /// Like [`Writer::new`], for a cache that can be [subscribed](Writer::subscribe) to.
    pub fn new_shared(buf_size: usize, dyntype: K::DynamicType) -> Self {
        Self::with(dyntype, Some(Subscribers::new(buf_size)))
    }

    fn with(dyntype: K::DynamicType, subscribers: Option<Subscribers<ObjectKey, Arc<K>>>) -> Self {
        Self {
            shared: Arc::new(Shared::new(dyntype, subscribers)),
            ready: watch::Sender::new(false),
            indexes: WriterIndexes::default(),
            running_list: None,
            history_lost: false,
        }
    }

    /// Declares an index, so that [`Store::by_index`] needs no scan of all objects.
    ///
    /// Costs one call of the index function for the old and the new state of each object that changes, and memory for one entry per
    /// object and key.
    #[must_use]
    pub fn with_index<T>(mut self, index: &Index<K, T>) -> Self
    where
        K: Send + Sync,
        T: Eq + Hash + Send + Sync + 'static,
    {
        self.shared.pending_indexes.lock().push(Arc::new(index.clone()));
        self.add_pending_indexes();
        self
    }

    /// A store that reads this cache.
    #[must_use]
    pub fn as_reader(&self) -> Store<K> {
        Store { cache: Cache::Decoded(Arc::clone(&self.shared)), ready: self.ready.subscribe() }
    }

    /// A store that reads this cache, whose objects are those of another type in compact form.
    pub(in crate::reflector) fn as_compact_reader<D>(&self, cache: CompactCache<D>) -> Store<D>
    where
        D: Lookup + 'static,
        D::DynamicType: Eq + Hash,
    {
        Store { cache: Cache::Compact(cache), ready: self.ready.subscribe() }
    }

    /// A stream of the objects as they change; `None` if the cache is not shared.
    ///
    /// A subscriber starts with all current objects. A slow subscriber receives only the newest state of each object: its queue
    /// holds at most one state per object, and it does not block the writer or other subscribers.
    pub fn subscribe(&self) -> Option<ReflectHandle<K>> {
        self.as_reader().subscribe()
    }

    /// Applies an event to the cache. See [`Event`] for the meaning of each variant.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::{reflector, watcher::Event};
    ///
    /// let (store, mut writer) = reflector::store();
    /// writer.apply_watcher_event(&Event::Apply(ConfigMap::default()));
    /// writer.apply_watcher_event(&Event::Delete(ConfigMap::default()));
    /// assert!(store.is_empty());
    /// ```
    pub fn apply_watcher_event(&mut self, event: &Event<K>) {
        match event {
            Event::Init => self.start_list(),
            Event::InitApply(object) => drop(self.list(Arc::new(object.clone()))),
            Event::InitDone => self.finish_public_list(),
            Event::Apply(object) => drop(self.apply(Arc::new(object.clone()))),
            Event::Delete(object) => self.delete(&Arc::new(object.clone())),
        }
        drop(self.indexes.take_panics()); // they were logged
    }

    /// Applies an event without a clone, and returns it with the stored `Arc`. The caller also has to call
    /// [`take_index_panics`](Self::take_index_panics).
    pub(crate) fn apply_event(&mut self, event: Event<impl Into<Arc<K>>>) -> Event<Arc<K>> {
        match event.map(Into::into) {
            Event::Init => {
                self.start_list();
                Event::Init
            }
            Event::InitApply(object) => Event::InitApply(self.list(object)),
            Event::InitDone => {
                self.finish_public_list();
                Event::InitDone
            }
            Event::Apply(object) => Event::Apply(self.apply(object)),
            Event::Delete(last) => {
                self.delete(&last);
                Event::Delete(last)
            }
        }
    }

    /// Applies an event of the collection that fills the cache, and returns it with the stored `Arc`.
    pub(crate) fn apply_collection_event(
        &mut self,
        event: CollectionEvent<impl Into<Arc<K>>>,
    ) -> CollectionEvent<Arc<K>> {
        match event.map(Into::into) {
            CollectionEvent::Init => {
                self.start_list();
                CollectionEvent::Init
            }
            CollectionEvent::InitApply(object) => CollectionEvent::InitApply(self.list(object)),
            CollectionEvent::Synced { resource_version } => {
                self.finish_list(ListVersion::of(&resource_version));
                CollectionEvent::Synced { resource_version }
            }
            CollectionEvent::Apply(object) => CollectionEvent::Apply(self.apply(object)),
            CollectionEvent::Delete(last) => {
                self.delete(&last);
                CollectionEvent::Delete(last)
            }
            CollectionEvent::Progress { resource_version } => {
                self.shared.deleted.forget_old();
                self.watermarks().change(|watermarks| watermarks.progress("", &resource_version));
                CollectionEvent::Progress { resource_version }
            }
            CollectionEvent::Undecodable(object) => {
                self.undecodable(&object);
                CollectionEvent::Undecodable(object)
            }
            CollectionEvent::Closed => CollectionEvent::Closed,
        }
    }

    /// The newest state of the object, also from the running list.
    pub(in crate::reflector) fn newest(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.shared.newest(key)
    }

    /// The panics of index functions since the last call.
    pub(crate) fn take_index_panics(&mut self) -> Vec<IndexPanic> {
        self.indexes.take_panics()
    }

    /// Applies a state or a deletion that cannot be decoded. The last readable state of the object is retained, also through a
    /// list. If the object was deleted or replaced, its last readable state is removed and returned.
    pub(in crate::reflector) fn undecodable(&mut self, object: &UndecodableObject) -> Option<Arc<K>> {
        let (namespace, name) = (object.namespace.as_deref(), &*object.name);
        let before = self.shared().newest_before_list(namespace, name);
        let removed = if self.running_list.is_some() {
            let listed = self.shared().listed.read().as_ref().and_then(|it| it.get(namespace, name).cloned());
            match (listed, before) {
                (Some(listed), _) => no_longer_exists(&*listed, object).then_some(listed),
                (None, Some(before)) if !object.deleted && is_same_object(&*before, object) => {
                    self.insert_listed(&before);
                    None
                }
                _ => None,
            }
        } else {
            before.filter(|before| no_longer_exists(&**before, object))
        };
        if let Some(last) = &removed {
            self.no_longer_outdated(last);
            self.shared.deleted.add(last);
            self.remove(last);
            self.publish(last);
        }
        let key = || ObjectKey { namespace: namespace.map(Into::into), name: name.into() };
        if removed.is_none() && !object.deleted && self.shared().newest(&key()).is_some() {
            self.retained(key());
        }
        if self.running_list.is_none() {
            let state = Visible { uid: object.uid.as_deref(), version: object.resource_version.as_deref() };
            let namespace = namespace.unwrap_or_default();
            self.watermarks()
                .change(|watermarks| watermarks.object_changed(key, namespace, state, object.deleted));
        }
        removed
    }

    /// The watch that fills the cache selects these objects.
    pub(in crate::reflector) fn selects(&self, selected: Selected) {
        self.shared.selected.set(selected).ok(); // a writer fills its cache from one watch
    }

    pub(in crate::reflector) fn shared(&self) -> &Arc<Shared<K>> {
        &self.shared
    }

    pub(super) fn watermarks(&self) -> &SharedWatermarks {
        &self.shared.watermarks
    }

    fn add_pending_indexes(&mut self) {
        self.indexes.add_pending(&self.shared);
    }

    fn start_list(&mut self) {
        self.add_pending_indexes();
        let empty =
            IndexedTable::with_capacity(self.shared.objects.read(IndexedTable::len), self.indexes.declared());
        let broken_off = self.shared().listed.write().replace(empty);
        // Before the first complete list, nothing reads the newest states.
        if let Some(broken_off) = broken_off.filter(|_| *self.ready.borrow()) {
            self.shared().abandon(&broken_off);
        }
        self.running_list = Some(RunningList::default());
        self.watermarks().change(|watermarks| watermarks.start_list(""));
    }

    pub(super) fn list(&mut self, object: Arc<K>) -> Arc<K> {
        if let Some(list) = &mut self.running_list {
            list.readable.extend(self.shared.outdated_key(&*object));
            self.insert_listed(&object);
        } else {
            self.no_longer_outdated(&object);
            self.insert(&object);
        }
        self.advance_watermark(&object, false);
        object
    }

    fn finish_public_list(&mut self) {
        let highest = self.running_list.as_ref().and_then(|list| list.highest);
        self.finish_list(ListVersion::Unknown { highest });
    }

    fn finish_list(&mut self, version: ListVersion) {
        self.history_lost = false;
        let shared = self.shared();
        shared.keep_missing_from_list();
        shared.deleted.forget_old();
        let before = {
            // Under both locks: otherwise a reader could find neither the running list nor its result.
            let mut listed = shared.listed.write();
            listed.take().map(|mut listed| {
                release(&mut listed);
                shared.objects.change(|visible| std::mem::replace(visible, listed))
            })
        };
        let changed = match &before {
            Some(before) if shared.objects.is_shared() => {
                shared.objects.read(|after| differences(before, after))
            }
            _ => Vec::new(),
        };
        let abandoned = std::mem::take(&mut *shared.abandoned.write());
        drop(abandoned); // without the lock
        shared.objects.publish(changed.into_iter().map(keyed));
        if let Some(list) = self.running_list.take() {
            let shared = &self.shared;
            list.readable.iter().for_each(|key| drop(shared.outdated.write().take(key)));
            shared.forget_outdated();
            shared.watermarks.change(|watermarks| {
                watermarks.complete_list("");
                watermarks.show_list("", version, |key, awaited| shared.is_met(key, awaited));
            });
        }
        self.ready.send_if_modified(|ready| !std::mem::replace(ready, true));
    }

    fn apply(&mut self, object: Arc<K>) -> Arc<K> {
        self.add_pending_indexes();
        self.shared.deleted.forget_old();
        self.no_longer_outdated(&object);
        if self.running_list.is_some() {
            self.insert_listed(&object);
        }
        self.insert(&object);
        self.publish(&object); // before the watermark: when a wait ends, subscribers have received the object
        self.advance_watermark(&object, false);
        object
    }

    fn delete(&mut self, object: &Arc<K>) {
        self.add_pending_indexes();
        self.no_longer_outdated(object);
        self.shared.deleted.add(object);
        self.remove(object);
        self.publish(object);
        self.advance_watermark(object, true);
    }

    /// Advances the highest version of the running list, if there is one, or else the watermark of the visible objects.
    fn advance_watermark(&mut self, object: &K, deleted: bool) {
        let version = object.resource_version();
        if let Some(list) = &mut self.running_list {
            list.highest = list.highest.max(version.as_deref().and_then(parse));
            return;
        }
        let (namespace, uid) = (object.namespace(), object.uid());
        let namespace = namespace.as_deref().unwrap_or_default();
        let change = Visible { uid: uid.as_deref(), version: version.as_deref() };
        self.watermarks().change(|watermarks| {
            watermarks.object_changed(|| ObjectKey::of(object), namespace, change, deleted);
        });
    }

    /// Inserts into the visible objects.
    fn insert(&self, object: &Arc<K>) {
        let objects = &self.shared().objects;
        let current = || objects.read(|table| table.get_same_key(object).cloned());
        let Some((old_keys, new_keys)) = self.indexes.keys(current, object) else { return };
        let mut panics = Vec::new();
        let replaced =
            objects.change(|table| table.insert(Arc::clone(object), old_keys, new_keys, &mut panics));
        drop(replaced); // without the lock: `K::drop` is user code
        self.indexes.report_panics(panics);
    }

    /// Inserts into the running list.
    fn insert_listed(&self, object: &Arc<K>) {
        let listed = &self.shared().listed;
        let current = || listed.read().as_ref().and_then(|table| table.get_same_key(object).cloned());
        let Some((old_keys, new_keys)) = self.indexes.keys(current, object) else { return };
        let mut panics = Vec::new();
        let insert =
            |table: &mut IndexedTable<K>| table.insert(Arc::clone(object), old_keys, new_keys, &mut panics);
        let replaced = listed.write().as_mut().and_then(insert);
        drop(replaced); // without the lock
        self.indexes.report_panics(panics);
    }

    /// Removes the object with this key from the visible objects and from the running list.
    fn remove(&self, object: &K) {
        let shared = self.shared();
        let keys = |current: Option<Arc<K>>| {
            current.map(|current| self.indexes.keys_of_current(&current)).unwrap_or_default()
        };
        if self.running_list.is_some() {
            let old_keys =
                keys(shared.listed.read().as_ref().and_then(|it| it.get_same_key(object).cloned()));
            let removed = shared.listed.write().as_mut().and_then(|table| table.remove(object, old_keys));
            drop(removed); // without the lock
            let removed = shared.abandoned.write().remove(&ObjectKey::of(object));
            drop(removed); // without the lock
        }
        let old_keys = keys(shared.objects.read(|table| table.get_same_key(object).cloned()));
        let removed = shared.objects.change(|table| table.remove(object, old_keys));
        drop(removed); // without the lock
    }

    fn publish(&self, object: &Arc<K>) {
        self.shared().objects.publish(std::iter::once(Arc::clone(object)).map(keyed));
    }

    /// The visible state of this object is retained although a later state exists.
    pub(super) fn retained(&mut self, key: ObjectKey) {
        if let Some(list) = &mut self.running_list {
            list.readable.retain(|readable| *readable != key);
        }
        self.shared.outdated.write().insert(key);
    }

    /// The readable state of the object is its latest one, or it does not exist.
    pub(super) fn no_longer_outdated(&self, object: &K) {
        if let Some(key) = self.shared.outdated_key(object) {
            let mut outdated = self.shared.outdated.write();
            outdated.remove(&key);
            release(&mut *outdated);
        }
    }
}

impl<K: Lookup + Clone + 'static> Drop for Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    fn drop(&mut self) {
        self.shared.objects.close();
        self.shared.watermarks.change(|watermarks| watermarks.close());
    }
}

impl<K> Default for Writer<K>
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Default + Eq + Hash + Clone,
{
    fn default() -> Self {
        Self::new(K::DynamicType::default())
    }
}

impl<K: fmt::Debug + 'static + Lookup + Clone> fmt::Debug for Writer<K>
where
    K::DynamicType: Eq + Hash + Clone + fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("store", &self.as_reader()).finish_non_exhaustive()
    }
}

/// Whether the uids are equal. A server that sends no uid is assumed to mean the same object.
fn is_same_object<K: Lookup>(state: &K, undecodable: &UndecodableObject) -> bool {
    undecodable.uid.is_none() || state.uid().as_deref() == undecodable.uid.as_deref()
}

/// Whether the object was deleted, or replaced by another object with its name.
fn no_longer_exists<K: Lookup>(state: &K, undecodable: &UndecodableObject) -> bool {
    is_same_object(state, undecodable) == undecodable.deleted
}

/// The new and changed objects of `after`, and the last states of the removed ones.
fn differences<K: Lookup + 'static>(before: &IndexedTable<K>, after: &IndexedTable<K>) -> Vec<Arc<K>> {
    let same = |object: &Arc<K>, table: &IndexedTable<K>| {
        table.get_same_key(object).is_some_and(|other| Arc::ptr_eq(object, other))
    };
    let changed = after.iter().filter(|object| !same(object, before));
    let removed = before.iter().filter(|object| after.get_same_key(object).is_none());
    let mut objects: Vec<Arc<K>> = changed.chain(removed).cloned().collect();
    sort(&mut objects);
    objects
}
