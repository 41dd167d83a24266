//! Filling a cache.

use super::{
    Store,
    progress::{Marks, Progress},
    reader::{Lists, Shared},
};
use crate::{
    reflector::{Index, Lookup, ReflectHandle, subscription::Subscribers, table::Table},
    version::number,
    watcher::Event,
};
use ahash::AHashSet;
use parking_lot::{Mutex, RwLock};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    hash::Hash,
    sync::Arc,
};
use tokio::sync::{Notify, watch};

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
    reader: Store<K>,
    lists: watch::Sender<Lists>,
    /// How far the list under way reaches.
    listing: Option<Marks>,
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

    fn with(dyntype: K::DynamicType, subscribers: Option<Subscribers<K>>) -> Self {
        let (lists, told) = watch::channel(Lists::default());
        let shared = Shared {
            dyntype,
            objects: RwLock::new(Table::default()),
            listed: RwLock::new(None),
            progress: Mutex::new(Progress::default()),
            changed: Notify::new(),
            subscribers,
        };
        Self { reader: Store { shared: Arc::new(shared), lists: told }, lists, listing: None }
    }

    /// Declares an index, so that [`Store::by_index`] finds its objects without looking at the others.
    ///
    /// Costs one call of the index's function for the old and the new state of each object that changes, and one entry
    /// per object and key.
    #[must_use]
    pub fn with_index<T>(self, index: &Index<K, T>) -> Self
    where
        K: Send + Sync,
        T: Eq + Hash + Send + Sync + 'static,
    {
        self.reader.add_index(index);
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
            Event::InitDone => self.finish_list(),
            Event::Apply(object) => drop(self.apply(Cow::Borrowed(object))),
            Event::Delete(object) => self.delete(&Arc::new(object.clone())),
        }
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
        self.take_in(event).map(|_kept| copy)
    }

    /// Takes an event in without a copy, and returns it with the object in its place in memory.
    pub(crate) fn take_in(&mut self, event: Event<K>) -> Event<Arc<K>> {
        match event {
            Event::Init => {
                self.start_list();
                Event::Init
            }
            Event::InitApply(object) => Event::InitApply(self.list(Cow::Owned(object))),
            Event::InitDone => {
                self.finish_list();
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

    /// Puts these objects of a namespace in the place of those of these names, all at once, and returns the events that tell
    /// the difference, by name.
    pub(in crate::reflector) fn replace_in(
        &mut self,
        namespace: &str,
        before: &AHashSet<Box<str>>,
        after: BTreeMap<Box<str>, K>,
    ) -> Vec<Event<Arc<K>>> {
        let shared = &self.reader.shared;
        let (mut events, mut changed) = (Vec::new(), Vec::new());
        let mut mark = None;
        let mut objects = shared.objects.write();
        let gone: BTreeSet<&str> =
            before.iter().filter(|name| !after.contains_key(*name)).map(|name| &**name).collect();
        for name in gone {
            let last = objects.get(Some(namespace), name).cloned();
            if let Some(last) = last {
                objects.remove(&last);
                events.push(Event::Delete(Arc::clone(&last)));
                changed.push(last);
            }
        }
        for object in after.into_values() {
            mark = mark.max(object.resource_version().as_deref().and_then(number));
            if objects.counterpart(&object).is_some_and(|present| same_state(&**present, &object)) {
                continue;
            }
            let shown = Arc::new(object);
            objects.insert(Arc::clone(&shown));
            events.push(Event::Apply(Arc::clone(&shown)));
            changed.push(shown);
        }
        drop(objects);
        shared.progress.lock().start_over_in(namespace, mark);
        shared.changed.notify_waiters();
        if let Some(subscribers) = &shared.subscribers {
            subscribers.publish(&changed);
        }
        events
    }

    fn start_list(&mut self) {
        let empty = self.reader.shared.objects.read_recursive().emptied();
        *self.reader.shared.listed.write() = Some(empty);
        self.listing = Some(Marks::default());
        self.lists.send_if_modified(|lists| {
            lists.begun += 1;
            false // nobody waits for a beginning
        });
    }

    fn list(&mut self, object: Cow<'_, K>) -> Arc<K> {
        let object = self.keep(object);
        match &mut *self.reader.shared.listed.write() {
            Some(listed) => listed.insert(Arc::clone(&object)),
            None => self.reader.shared.objects.write().insert(Arc::clone(&object)),
        }
        self.note(&object);
        object
    }

    fn finish_list(&mut self) {
        let shared = &self.reader.shared;
        let before = {
            let mut under_way = shared.listed.write();
            under_way.take().map(|listed| std::mem::replace(&mut *shared.objects.write(), listed))
        };
        if let (Some(before), Some(subscribers)) = (before, &shared.subscribers) {
            subscribers.publish(&differences(&before, &shared.objects.read_recursive()));
        }
        if let Some(marks) = self.listing.take() {
            shared.progress.lock().start_over(marks);
            shared.changed.notify_waiters();
        }
        self.lists.send_modify(|lists| {
            lists.begun = lists.begun.max(1);
            lists.complete = lists.begun;
        });
    }

    fn apply(&mut self, object: Cow<'_, K>) -> Arc<K> {
        let object = self.keep(object);
        if let Some(listed) = &mut *self.reader.shared.listed.write() {
            listed.insert(Arc::clone(&object));
        }
        self.reader.shared.objects.write().insert(Arc::clone(&object));
        self.note(&object);
        self.publish(&object);
        object
    }

    fn delete(&mut self, object: &Arc<K>) {
        if let Some(listed) = &mut *self.reader.shared.listed.write() {
            listed.remove(object);
        }
        self.reader.shared.objects.write().remove(object);
        self.note(object);
        self.publish(object);
    }

    /// Notes how far the objects have come: those of the list under way, if there is one, else those that are visible.
    fn note(&mut self, object: &K) {
        let namespace = object.namespace();
        let namespace = namespace.as_deref().unwrap_or_default();
        let version = object.resource_version().as_deref().and_then(number);
        match (&mut self.listing, version) {
            (None, version) => self.reader.shared.note_visible(namespace, version),
            (Some(marks), Some(version)) => marks.note(namespace, version),
            (Some(_), None) => {}
        }
    }

    fn publish(&self, object: &Arc<K>) {
        if let Some(subscribers) = &self.reader.shared.subscribers {
            subscribers.publish(std::slice::from_ref(object));
        }
    }

    fn holds(&self, object: &K) -> bool {
        let objects = self.reader.shared.objects.read_recursive();
        objects.counterpart(object).is_some_and(|present| same_state(present.as_ref(), object))
    }

    /// The object in its place in memory: the one it has already if the state is the same.
    fn keep(&self, object: Cow<'_, K>) -> Arc<K> {
        let objects = self.reader.shared.objects.read_recursive();
        match objects.counterpart(&object) {
            Some(present) if same_state(present.as_ref(), &object) => Arc::clone(present),
            _ => Arc::new(object.into_owned()),
        }
    }
}

impl<K: Lookup + Clone + 'static> Drop for Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    fn drop(&mut self) {
        if let Some(subscribers) = &self.reader.shared.subscribers {
            subscribers.close();
        }
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

fn same_state<K: Lookup>(one: &K, other: &K) -> bool {
    let version = one.resource_version();
    version.is_some() && version == other.resource_version() && one.uid() == other.uid()
}

/// The objects of `after` that are new or changed, and the last states of those that are gone.
fn differences<K: Lookup + 'static>(before: &Table<K>, after: &Table<K>) -> Vec<Arc<K>> {
    let same = |object: &Arc<K>, table: &Table<K>| {
        table.counterpart(object).is_some_and(|other| Arc::ptr_eq(object, other))
    };
    let changed = after.iter().filter(|object| !same(object, before));
    let gone = before.iter().filter(|object| after.counterpart(object).is_none());
    let mut objects: Vec<Arc<K>> = changed.chain(gone).cloned().collect();
    in_order(&mut objects);
    objects
}

/// By name, rather than in the order of a hash map, which no simulation can repeat.
pub(super) fn in_order<K: Lookup>(objects: &mut [Arc<K>]) {
    objects
        .sort_unstable_by(|one, other| (one.namespace(), one.name()).cmp(&(other.namespace(), other.name())));
}
