//! Filling a cache.

use super::{
    IndexPanic, ListVersion, Store,
    reader::{Shared, keyed},
    wait::SharedWatermarks,
    watermarks::Visible,
};
use crate::{
    reflector::{
        Index, Lookup, ObjectKey, ReflectHandle,
        published::Published,
        registry::Registry,
        table::{Declared, Table},
    },
    version::number,
    watcher::{self, CollectionEvent, Event, UndecodableObject},
};
use parking_lot::{Mutex, RwLock};
use std::{borrow::Cow, fmt, hash::Hash, sync::Arc};
use tokio::sync::watch;

/// A store and the writer that fills it.
///
/// The store is empty until the writer has seen a complete list: see [`Store::wait_until_ready`].
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::{reflector, watcher::Event};
///
/// let (store, mut writer) = reflector::store::<ConfigMap>();
/// for event in [Event::Init, Event::InitApply(ConfigMap::default()), Event::InitDone] {
///     assert!(store.is_empty(), "a list is seen as a whole");
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
/// `buf_size` is how many objects each subscriber has room for from the start; more are made room for when needed.
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

/// Fills the stores that read from it. There is one writer per cache.
pub struct Writer<K: 'static + Lookup + Clone>
where
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) reader: Store<K>,
    ready: watch::Sender<bool>,
    pub(super) indexes: Declared<K>,
    /// The list under way.
    listing: Option<Listing>,
    /// The objects that index functions panicked at, until somebody asks.
    pub(super) index_panics: Mutex<Vec<IndexPanic>>,
}

/// What a list under way has shown of its version.
#[derive(Default)]
struct Listing {
    /// The highest version of its objects.
    highest: Option<u128>,
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
        Self::with(dyntype, Some(Registry::new(buf_size)))
    }

    fn with(dyntype: K::DynamicType, subscribers: Option<Registry<ObjectKey, Arc<K>>>) -> Self {
        let (ready, is_ready) = watch::channel(false);
        let shared = Shared {
            dyntype,
            objects: Published::new(Table::default(), subscribers),
            listed: RwLock::new(None),
            watermarks: Arc::default(),
            wanted_indexes: Mutex::default(),
        };
        let reader = Store { shared: Arc::new(shared), ready: is_ready };
        Self { reader, ready, indexes: Declared::default(), listing: None, index_panics: Mutex::default() }
    }

    /// Declares an index, so that [`Store::by_index`] finds its objects without looking at the others.
    ///
    /// Costs one call of the index's function for the old and the new state of each object that changes, and one entry
    /// per object and key.
    #[must_use]
    pub fn with_index<T>(mut self, index: &Index<K, T>) -> Self
    where
        K: Send + Sync,
        T: Eq + Hash + Send + Sync + 'static,
    {
        self.reader.add_index(index);
        self.add_wanted_indexes();
        self
    }

    /// A store that shows what this writer writes.
    #[must_use]
    pub fn as_reader(&self) -> Store<K> {
        self.reader.clone()
    }

    /// A stream of the objects as they change; `None` if the cache is not shared.
    ///
    /// A subscriber starts with what the store holds. A slow one gets the newest state of each object, holds up
    /// nobody, and keeps at most one state per object waiting.
    pub fn subscribe(&self) -> Option<ReflectHandle<K>> {
        self.reader.subscribe()
    }

    /// Takes an event in: see [`Event`] for what each means.
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
            Event::InitApply(object) => drop(self.list(Cow::Borrowed(object))),
            Event::InitDone => self.finish_public_list(),
            Event::Apply(object) => drop(self.apply(Cow::Borrowed(object))),
            Event::Delete(object) => self.delete(&Arc::new(object.clone())),
        }
        self.index_panics.get_mut().clear(); // the log has them
    }

    /// Takes an event in, and returns it for whoever comes after.
    ///
    /// What came stays, and the copy goes on: a copy lives for a moment and finds memory that the one before has just left, whereas
    /// what came may be the work of another thread.
    pub(crate) fn pass_through(&mut self, event: Event<K>) -> Event<K> {
        let object = match &event {
            Event::InitApply(object) | Event::Apply(object) | Event::Delete(object) => Some(object),
            Event::Init | Event::InitDone => None,
        };
        let Some(copy) = object.filter(|object| !self.holds(object)).cloned() else {
            self.apply_watcher_event(&event);
            return event;
        };
        let event = self.take_in(event).map(|_kept| copy);
        self.index_panics.get_mut().clear(); // the log has them
        event
    }

    /// Takes an event in without a copy, and returns it with the object in its place in memory. Whoever calls this takes the index
    /// panics, too.
    pub(crate) fn take_in(&mut self, event: Event<K>) -> Event<Arc<K>> {
        match event {
            Event::Init => {
                self.start_list();
                Event::Init
            }
            Event::InitApply(object) => Event::InitApply(self.list(Cow::Owned(object))),
            Event::InitDone => {
                self.finish_public_list();
                Event::InitDone
            }
            Event::Apply(object) => Event::Apply(self.apply(Cow::Owned(object))),
            Event::Delete(object) => {
                let last = Arc::new(object);
                self.delete(&last);
                Event::Delete(last)
            }
        }
    }

    /// Takes in an event of the collection that fills this store, and returns it with the object in its place in memory.
    pub(crate) fn take_in_collection(&mut self, event: CollectionEvent<K>) -> CollectionEvent<Arc<K>> {
        match event {
            CollectionEvent::Init => {
                self.start_list();
                CollectionEvent::Init
            }
            CollectionEvent::InitApply(object) => CollectionEvent::InitApply(self.list(Cow::Owned(object))),
            CollectionEvent::Synced { resource_version } => {
                self.finish_list(ListVersion::of(&resource_version));
                CollectionEvent::Synced { resource_version }
            }
            CollectionEvent::Apply(object) => CollectionEvent::Apply(self.apply(Cow::Owned(object))),
            CollectionEvent::Delete(object) => {
                let last = Arc::new(object);
                self.delete(&last);
                CollectionEvent::Delete(last)
            }
            CollectionEvent::Progress { resource_version } => {
                self.watermarks().change(|watermarks| watermarks.progress("", &resource_version));
                CollectionEvent::Progress { resource_version }
            }
            CollectionEvent::Undecodable(object) => {
                self.undecodable(&object);
                CollectionEvent::Undecodable(object)
            }
        }
    }

    /// Takes in an error of a stream of events. Returns the last readable states of objects that are proven to be gone by it.
    pub(crate) fn take_in_error(&mut self, error: &watcher::Error) -> Vec<Arc<K>> {
        error.undecodable().filter_map(|object| self.undecodable(object)).collect()
    }

    /// An object exists whose state cannot be decoded, or its deletion cannot. Its last readable state stays, also through a list,
    /// unless this proves that it is gone: then it is returned.
    pub(in crate::reflector) fn undecodable(&mut self, object: &UndecodableObject) -> Option<Arc<K>> {
        let (namespace, name) = (object.namespace.as_deref(), &*object.name);
        let shown = self.shared().objects.read(|table| table.get(namespace, name).cloned());
        let gone = if self.listing.is_some() {
            let listed = self.shared().listed.read().as_ref().and_then(|it| it.get(namespace, name).cloned());
            match (listed, shown) {
                (Some(listed), _) => is_proven_gone(&*listed, object).then_some(listed),
                (None, Some(shown)) if !object.deleted && is_same(&*shown, object) => {
                    self.put_listed(&shown);
                    None
                }
                _ => None,
            }
        } else {
            shown.filter(|shown| is_proven_gone(&**shown, object))
        };
        if let Some(last) = &gone {
            self.take_out(last);
            self.publish(last);
        }
        if self.listing.is_none() {
            let seen = Visible { uid: object.uid.as_deref(), version: object.resource_version.as_deref() };
            let key = || ObjectKey { namespace: namespace.map(Into::into), name: name.into() };
            let namespace = namespace.unwrap_or_default();
            self.watermarks().change(|watermarks| watermarks.changed(key, namespace, seen, object.deleted));
        }
        gone
    }

    pub(super) fn shared(&self) -> &Shared<K> {
        &self.reader.shared
    }

    pub(super) fn watermarks(&self) -> &SharedWatermarks {
        &self.reader.shared.watermarks
    }

    fn start_list(&mut self) {
        self.add_wanted_indexes();
        let empty = Table::with_room(self.reader.len(), &self.indexes);
        let given_up = self.shared().listed.write().replace(empty);
        drop(given_up);
        self.listing = Some(Listing::default());
        self.watermarks().change(|watermarks| watermarks.start_list(""));
    }

    fn list(&mut self, object: Cow<'_, K>) -> Arc<K> {
        let object = self.intern(object);
        if self.listing.is_some() {
            self.put_listed(&object);
        } else {
            self.put(&object);
        }
        self.note(&object, false);
        object
    }

    fn finish_public_list(&mut self) {
        let highest = self.listing.as_ref().and_then(|listing| listing.highest);
        self.finish_list(ListVersion::Unknown { highest });
    }

    fn finish_list(&mut self, version: ListVersion) {
        let shared = self.shared();
        let before = {
            // Both locks, so that nobody sees neither the list under way nor its outcome.
            let mut under_way = shared.listed.write();
            under_way.take().map(|listed| shared.objects.change(|shown| std::mem::replace(shown, listed)))
        };
        let changed = match &before {
            Some(before) if shared.objects.is_shared() => {
                shared.objects.read(|after| differences(before, after))
            }
            _ => Vec::new(),
        };
        shared.objects.publish(changed.into_iter().map(keyed));
        if self.listing.take().is_some() {
            let shared = self.shared();
            shared.watermarks.change(|watermarks| {
                watermarks.list_arrived("");
                watermarks.finish_list("", version, |key, awaited| shared.is_met(key, awaited));
            });
        }
        self.ready.send_if_modified(|ready| !std::mem::replace(ready, true));
    }

    fn apply(&mut self, object: Cow<'_, K>) -> Arc<K> {
        self.add_wanted_indexes();
        let object = self.intern(object);
        if self.listing.is_some() {
            self.put_listed(&object);
        }
        self.put(&object);
        self.publish(&object); // before a wait ends: whoever waited finds subscribers told
        self.note(&object, false);
        object
    }

    fn delete(&mut self, object: &Arc<K>) {
        self.add_wanted_indexes();
        self.take_out(object);
        self.publish(object);
        self.note(object, true);
    }

    /// Notes how far the objects have come: those of the list under way, if there is one, else those that are visible.
    fn note(&mut self, object: &K, deleted: bool) {
        let version = object.resource_version();
        if let Some(listing) = &mut self.listing {
            listing.highest = listing.highest.max(version.as_deref().and_then(number));
            return;
        }
        let (namespace, uid) = (object.namespace(), object.uid());
        let namespace = namespace.as_deref().unwrap_or_default();
        let change = Visible { uid: uid.as_deref(), version: version.as_deref() };
        self.watermarks()
            .change(|watermarks| watermarks.changed(|| ObjectKey::of(object), namespace, change, deleted));
    }

    /// Makes an object visible.
    fn put(&self, object: &Arc<K>) {
        let objects = &self.shared().objects;
        let present = || objects.read(|table| table.get_same_key(object).cloned());
        let Some((before, after)) = self.index_keys(present, object) else { return };
        let replaced = objects.change(|table| table.insert(Arc::clone(object), before, after));
        drop(replaced); // without the lock: it may be the last of its kind
    }

    /// Puts an object into the list under way.
    fn put_listed(&self, object: &Arc<K>) {
        let listed = &self.shared().listed;
        let present = || listed.read().as_ref().and_then(|table| table.get_same_key(object).cloned());
        let Some((before, after)) = self.index_keys(present, object) else { return };
        let insert = |table: &mut Table<K>| table.insert(Arc::clone(object), before, after);
        let replaced = listed.write().as_mut().and_then(insert);
        drop(replaced);
    }

    /// Takes the object of this name out of everything.
    fn take_out(&self, object: &K) {
        let shared = self.shared();
        let keys = |present: Option<Arc<K>>| present.map(|it| self.keys_before(&it)).unwrap_or_default();
        if self.listing.is_some() {
            let before = keys(shared.listed.read().as_ref().and_then(|it| it.get_same_key(object).cloned()));
            let removed = shared.listed.write().as_mut().and_then(|table| table.remove(object, before));
            drop(removed);
        }
        let before = keys(shared.objects.read(|table| table.get_same_key(object).cloned()));
        let removed = shared.objects.change(|table| table.remove(object, before));
        drop(removed);
    }

    fn publish(&self, object: &Arc<K>) {
        self.shared().objects.publish(std::iter::once(Arc::clone(object)).map(keyed));
    }

    fn holds(&self, object: &K) -> bool {
        let holds = |table: &Table<K>| table.get_same_key(object).is_some_and(|it| same_state(&**it, object));
        self.shared().objects.read(holds)
    }

    /// The object in its place in memory: the one it has already if the state is the same.
    fn intern(&self, object: Cow<'_, K>) -> Arc<K> {
        let present = self.shared().objects.read(|table| {
            table.get_same_key(&object).filter(|present| same_state(&***present, &*object)).cloned()
        });
        present.unwrap_or_else(|| Arc::new(object.into_owned()))
    }
}

impl<K: Lookup + Clone + 'static> Drop for Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    fn drop(&mut self) {
        self.reader.shared.objects.close();
        self.reader.shared.watermarks.change(|watermarks| watermarks.close());
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
        f.debug_struct("Writer").field("store", &self.reader).finish_non_exhaustive()
    }
}

pub(super) fn same_state<K: Lookup>(one: &K, other: &K) -> bool {
    let version = one.resource_version();
    version.is_some() && version == other.resource_version() && one.uid() == other.uid()
}

/// Whether a state is one of the object that cannot be decoded. A server that says no uid is believed.
fn is_same<K: Lookup>(state: &K, undecodable: &UndecodableObject) -> bool {
    undecodable.uid.is_none() || state.uid().as_deref() == undecodable.uid.as_deref()
}

/// Whether the object of a state is gone: it was deleted, or another one has its name.
fn is_proven_gone<K: Lookup>(state: &K, undecodable: &UndecodableObject) -> bool {
    is_same(state, undecodable) == undecodable.deleted
}

/// The objects of `after` that are new or changed, and the last states of those that are gone.
fn differences<K: Lookup + 'static>(before: &Table<K>, after: &Table<K>) -> Vec<Arc<K>> {
    let same = |object: &Arc<K>, table: &Table<K>| {
        table.get_same_key(object).is_some_and(|other| Arc::ptr_eq(object, other))
    };
    let changed = after.iter().filter(|object| !same(object, before));
    let gone = before.iter().filter(|object| after.get_same_key(object).is_none());
    let mut objects: Vec<Arc<K>> = changed.chain(gone).cloned().collect();
    in_order(&mut objects);
    objects
}

/// By name, rather than in the order of a hash map, which no simulation can repeat.
pub(super) fn in_order<K: Lookup>(objects: &mut [Arc<K>]) {
    objects
        .sort_unstable_by(|one, other| (one.namespace(), one.name()).cmp(&(other.namespace(), other.name())));
}
