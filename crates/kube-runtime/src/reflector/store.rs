//! The cache itself: one [`Writer`], any number of [`Store`]s to read it.

use super::{Lookup, ObjectKey, ObjectRef, ReflectHandle, subscription::Subscribers, table::Table};
use crate::watcher::Event;
use kube_core::{ResourceExt, Selector, SelectorExt};
use parking_lot::RwLock;
use std::{borrow::Cow, fmt, hash::Hash, sync::Arc};
use tokio::sync::watch;

/// A store and the writer that fills it.
///
/// The store is empty until the writer has seen a complete list: see [`Store::wait_until_ready`].
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
#[must_use]
pub fn store_shared<K>(buf_size: usize) -> (Store<K>, Writer<K>)
where
    K: Lookup + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone + Default,
{
    let writer = Writer::new_shared(buf_size, K::DynamicType::default());
    (writer.as_reader(), writer)
}

/// The cache can no longer become ready: its writer is gone.
#[derive(Debug, thiserror::Error)]
#[error("the writer of the store was dropped before the store was ready")]
pub struct WriterDropped(#[source] watch::error::RecvError);

/// The objects of one kind as last seen, for reading. Clones show the same objects.
///
/// What a call returns is a snapshot: later events do not change it.
pub struct Store<K: 'static + Lookup>
where
    K::DynamicType: Hash + Eq,
{
    shared: Arc<Shared<K>>,
    ready: watch::Receiver<bool>,
}

/// What readers and the writer share.
struct Shared<K: Lookup> {
    dyntype: K::DynamicType,
    objects: RwLock<Table<K>>,
    /// What the list under way has brought so far. Locked before `objects` where both are.
    listed: RwLock<Option<Table<K>>>,
    subscribers: Option<Subscribers<K>>,
}

impl<K: 'static + Clone + Lookup> Store<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Waits until the first complete list is in the store. Returns at once where it is already.
    ///
    /// The stream that fills the store has to be polled meanwhile.
    ///
    /// # Errors
    ///
    /// [`WriterDropped`] if the writer went away before, so that waiting would never end.
    pub async fn wait_until_ready(&self) -> Result<(), WriterDropped> {
        self.ready.clone().wait_for(|ready| *ready).await.map(drop).map_err(WriterDropped)
    }

    /// Whether the first complete list is in the store.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// The object that `key` names. O(1).
    ///
    /// An object of the whole cluster is found by a key with a namespace too: that is how the owner references of its
    /// children name it.
    #[must_use]
    pub fn get(&self, key: &ObjectRef<K>) -> Option<Arc<K>> {
        if key.dyntype != self.shared.dyntype {
            return None;
        }
        self.look_up(key.namespace.as_deref(), &key.name)
    }

    /// The newest state of the object that `key` names: of the list under way if that has it already.
    ///
    /// Whoever acts on an event wants the state that the event was about, not one of before the list.
    pub(crate) fn newest(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let (namespace, name) = (key.namespace.as_deref(), &*key.name);
        let listed = self.shared.listed.read_recursive();
        let in_list =
            |table: &Table<K>| table.get(namespace, name).or_else(|| table.get(None, name)).cloned();
        listed.as_ref().and_then(in_list).or_else(|| self.look_up(namespace, name))
    }

    fn look_up(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
        let objects = self.shared.objects.read_recursive();
        objects.get(namespace, name).or_else(|| objects.get(None, name)).cloned()
    }

    /// All objects, in no particular order. O(n).
    #[must_use]
    pub fn state(&self) -> Vec<Arc<K>> {
        self.shared.objects.read_recursive().iter().cloned().collect()
    }

    /// The objects for which `predicate` holds, in no particular order. O(n).
    ///
    /// The store cannot change while it runs: keep it short.
    #[must_use]
    pub fn state_filter<P>(&self, predicate: P) -> Vec<Arc<K>>
    where
        P: Fn(&K) -> bool,
    {
        let objects = self.shared.objects.read_recursive();
        objects.iter().filter(|object| predicate(object)).cloned().collect()
    }

    /// The objects whose labels match, in no particular order. O(n).
    #[must_use]
    pub fn state_filter_selector(&self, selector: &Selector) -> Vec<Arc<K>>
    where
        K: ResourceExt,
    {
        self.state_filter(|object| selector.matches(object.labels()))
    }

    /// Some object for which `predicate` holds. O(n).
    #[must_use]
    pub fn find<P>(&self, predicate: P) -> Option<Arc<K>>
    where
        P: Fn(&K) -> bool,
    {
        self.shared.objects.read_recursive().iter().find(|object| predicate(object)).cloned()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.objects.read_recursive().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A stream of the objects as they change, where the store is [shared](store_shared).
    #[must_use]
    pub fn subscribe(&self) -> Option<ReflectHandle<K>> {
        let objects = self.shared.objects.read_recursive();
        let present = if self.is_ready() { objects.iter().cloned().collect() } else { Vec::new() };
        self.shared.subscribers.as_ref().map(|subscribers| subscribers.add(self.clone(), present))
    }

    pub(super) fn shared_subscribers(&self) -> Option<&Subscribers<K>> {
        self.shared.subscribers.as_ref()
    }

    /// Whether the writer is gone, so that nothing will change any more.
    pub(super) fn is_closed(&self) -> bool {
        self.ready.has_changed().is_err()
    }

    pub(crate) fn dyntype(&self) -> &K::DynamicType {
        &self.shared.dyntype
    }

    /// The names of all objects.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        self.shared.objects.read_recursive().iter().map(|object| ObjectKey::of(&**object)).collect()
    }
}

impl<K: 'static + Lookup> Clone for Store<K>
where
    K::DynamicType: Hash + Eq,
{
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), ready: self.ready.clone() }
    }
}

impl<K: fmt::Debug + 'static + Lookup> fmt::Debug for Store<K>
where
    K::DynamicType: Hash + Eq + fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = self.shared.objects.read_recursive();
        f.debug_struct("Store")
            .field("dyntype", &self.shared.dyntype)
            .field("ready", &*self.ready.borrow())
            .field("objects", &objects.len())
            .finish()
    }
}

/// Fills the stores that read from it. There is one writer per cache.
pub struct Writer<K: 'static + Lookup + Clone>
where
    K::DynamicType: Eq + Hash + Clone,
{
    reader: Store<K>,
    ready: watch::Sender<bool>,
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
        let objects = RwLock::new(Table::with_capacity(0));
        let (ready, is_ready) = watch::channel(false);
        let shared = Shared { dyntype, objects, listed: RwLock::new(None), subscribers };
        Self { reader: Store { shared: Arc::new(shared), ready: is_ready }, ready }
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
    pub fn apply_watcher_event(&mut self, event: &Event<K>) {
        match event {
            Event::Init => self.start_list(),
            Event::InitApply(object) => drop(self.list(Cow::Borrowed(object))),
            Event::InitDone => self.finish_list(),
            Event::Apply(object) => drop(self.apply(Cow::Borrowed(object))),
            Event::Delete(object) => self.delete(&Arc::new(object.clone())),
        }
    }

    /// Takes an event in without a copy, and returns the object that exists by it.
    pub(crate) fn absorb(&mut self, event: Event<K>) -> Option<Arc<K>> {
        match event {
            Event::Init => self.start_list(),
            Event::InitApply(object) => return Some(self.list(Cow::Owned(object))),
            Event::InitDone => self.finish_list(),
            Event::Apply(object) => return Some(self.apply(Cow::Owned(object))),
            Event::Delete(object) => self.delete(&Arc::new(object)),
        }
        None
    }

    fn start_list(&mut self) {
        let empty = Table::with_capacity(self.reader.len());
        *self.reader.shared.listed.write() = Some(empty);
    }

    fn list(&mut self, object: Cow<'_, K>) -> Arc<K> {
        let object = self.keep(object);
        match &mut *self.reader.shared.listed.write() {
            Some(listed) => listed.insert(Arc::clone(&object)),
            None => self.reader.shared.objects.write().insert(Arc::clone(&object)),
        }
        object
    }

    fn finish_list(&mut self) {
        let before = {
            let mut under_way = self.reader.shared.listed.write();
            under_way.take().map(|listed| std::mem::replace(&mut *self.reader.shared.objects.write(), listed))
        };
        if let (Some(before), Some(subscribers)) = (before, &self.reader.shared.subscribers) {
            subscribers.publish(&differences(&before, &self.reader.shared.objects.read_recursive()));
        }
        self.ready.send_replace(true);
    }

    fn apply(&mut self, object: Cow<'_, K>) -> Arc<K> {
        let object = self.keep(object);
        if let Some(listed) = &mut *self.reader.shared.listed.write() {
            listed.insert(Arc::clone(&object));
        }
        self.reader.shared.objects.write().insert(Arc::clone(&object));
        self.publish(&object);
        object
    }

    fn delete(&mut self, object: &Arc<K>) {
        if let Some(listed) = &mut *self.reader.shared.listed.write() {
            listed.remove(object);
        }
        self.reader.shared.objects.write().remove(object);
        self.publish(object);
    }

    fn publish(&self, object: &Arc<K>) {
        if let Some(subscribers) = &self.reader.shared.subscribers {
            subscribers.publish(std::slice::from_ref(object));
        }
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
fn differences<K: Lookup>(before: &Table<K>, after: &Table<K>) -> Vec<Arc<K>> {
    let same = |object: &Arc<K>, table: &Table<K>| {
        table.counterpart(object).is_some_and(|other| Arc::ptr_eq(object, other))
    };
    let changed = after.iter().filter(|object| !same(object, before));
    let gone = before.iter().filter(|object| after.counterpart(object).is_none());
    changed.chain(gone).cloned().collect()
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
