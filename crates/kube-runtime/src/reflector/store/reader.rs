//! Reading a cache.

use super::{Store, wait::SharedWatermarks, writer::in_order};
use crate::reflector::{
    Index, Lookup, ObjectKey, ObjectRef, ReflectHandle, inbox::Inbox, index::AnyIndex, published::Published,
    table::Table,
};
use kube_core::{ResourceExt, Selector, SelectorExt};
use parking_lot::{Mutex, RwLock};
use std::{borrow::Borrow, fmt, hash::Hash, sync::Arc};

/// What was waited for cannot come any more: the writer of the cache is gone.
#[derive(Debug, thiserror::Error)]
#[error("the writer of the store was dropped before what was waited for was in the store")]
pub struct WriterDropped(pub(super) ());

/// What readers and the writer share.
///
/// No two of the locks are held at the same time, but for `listed` or `watermarks` while `objects` is read. Nothing that users wrote
/// runs under any of them.
pub(super) struct Shared<K: Lookup> {
    pub(super) dyntype: K::DynamicType,
    pub(super) objects: Published<Table<K>, ObjectKey, Arc<K>>,
    /// What the list under way has brought so far.
    pub(super) listed: RwLock<Option<Table<K>>>,
    /// How far the visible objects have come. Changed after `objects`, so that whoever is woken finds them.
    pub(super) watermarks: Arc<SharedWatermarks>,
    /// Indexes that readers have declared, for the writer to add.
    pub(super) wanted_indexes: Mutex<Vec<Arc<dyn AnyIndex<K>>>>,
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
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::{reflector, watcher::Event};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    ///
    /// let (store, mut writer) = reflector::store::<ConfigMap>();
    /// [Event::Init, Event::InitDone].iter().for_each(|event| writer.apply_watcher_event(event));
    /// store.wait_until_ready().await?;
    /// let (orphan, writer) = reflector::store::<ConfigMap>();
    /// drop(writer);
    /// assert!(orphan.wait_until_ready().await.is_err(), "instead of waiting for ever");
    /// # Ok::<(), reflector::store::WriterDropped>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn wait_until_ready(&self) -> Result<(), WriterDropped> {
        self.ready.clone().wait_for(|ready| *ready).await.map(drop).map_err(|_closed| WriterDropped(()))
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
        let in_list =
            |table: &Table<K>| table.get(namespace, name).or_else(|| table.get(None, name)).cloned();
        let listed = self.shared.listed.read().as_ref().and_then(in_list);
        listed.or_else(|| self.look_up(namespace, name))
    }

    pub(super) fn look_up(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
        self.shared
            .objects
            .read(|table| table.get(namespace, name).or_else(|| table.get(None, name)).cloned())
    }

    /// All objects, in no particular order. O(n).
    #[must_use]
    pub fn state(&self) -> Vec<Arc<K>> {
        self.shared.objects.read(|table| table.iter().cloned().collect())
    }

    /// The objects for which `predicate` holds, in no particular order. O(n).
    ///
    /// `predicate` sees the objects as they were when the call began, and holds up nobody: the store may change meanwhile.
    #[must_use]
    pub fn state_filter<P>(&self, predicate: P) -> Vec<Arc<K>>
    where
        P: Fn(&K) -> bool,
    {
        self.state().into_iter().filter(|object| predicate(object)).collect()
    }

    /// The objects that have `key` in this index, in no particular order. O(number of them) where the index was
    /// declared with [`Writer::with_index`](super::Writer::with_index); otherwise the same, in O(n).
    #[must_use]
    pub fn by_index<T, Q>(&self, index: &Index<K, T>, key: &Q) -> Vec<Arc<K>>
    where
        T: Borrow<Q> + Eq + Hash + Send + Sync + 'static,
        Q: Eq + Hash + ?Sized,
    {
        let found = self.shared.objects.read(|table| {
            table.indexed(index, key).map(|found| found.into_iter().flatten().cloned().collect())
        });
        found.unwrap_or_else(|| self.state_filter(|object| index.has(object, key)))
    }

    /// The objects whose labels match, in no particular order. O(n); where the store has an
    /// [`Index::labels`] and the selector asks for the value of a label, O(number of objects with that label and value).
    #[must_use]
    pub fn state_filter_selector(&self, selector: &Selector) -> Vec<Arc<K>>
    where
        K: ResourceExt,
    {
        let some = self.shared.objects.read(|table| Some(table.candidates(selector)?.cloned().collect()));
        let some: Vec<Arc<K>> = some.unwrap_or_else(|| self.state());
        some.into_iter().filter(|object| selector.matches(object.labels())).collect()
    }

    /// Some object for which `predicate` holds. O(n).
    ///
    /// `predicate` sees the objects as they were when the call began, and holds up nobody: the store may change meanwhile.
    #[must_use]
    pub fn find<P>(&self, predicate: P) -> Option<Arc<K>>
    where
        P: Fn(&K) -> bool,
    {
        self.state().into_iter().find(|object| predicate(object))
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.objects.read(Table::len)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A stream of the objects as they change, where the store is [shared](super::store_shared).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::{reflector, watcher::Event};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    ///
    /// use futures::StreamExt;
    ///
    /// let (store, mut writer) = reflector::store_shared::<ConfigMap>(16);
    /// let subscriber = store.subscribe().expect("the store is shared");
    /// writer.apply_watcher_event(&Event::Apply(ConfigMap::default()));
    /// drop(writer);
    /// assert_eq!(subscriber.count().await, 1);
    /// # Ok::<(), reflector::store::WriterDropped>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Option<ReflectHandle<K>> {
        let inbox = self.shared.objects.subscribe(|table| {
            let mut present: Vec<_> = table.iter().cloned().collect();
            in_order(&mut present);
            present.into_iter().map(keyed)
        });
        inbox.map(|inbox| ReflectHandle::new(self.clone(), inbox))
    }

    /// A subscriber who begins with what waits for another one.
    pub(in crate::reflector) fn fork(&self, inbox: &Inbox<ObjectKey, Arc<K>>) -> Option<ReflectHandle<K>> {
        self.shared.objects.fork(inbox).map(|inbox| ReflectHandle::new(self.clone(), inbox))
    }

    /// Declares an index of what is there and of what comes. The writer adds it with its next change; until then, looking up takes
    /// O(n).
    pub(crate) fn add_index<T>(&self, index: &Index<K, T>)
    where
        K: Send + Sync,
        T: Eq + Hash + Send + Sync + 'static,
    {
        self.shared.wanted_indexes.lock().push(Arc::new(index.clone()));
    }

    pub(crate) fn dyntype(&self) -> &K::DynamicType {
        &self.shared.dyntype
    }

    /// Whether this very state of the object is what readers see.
    pub(crate) fn shows(&self, object: &Arc<K>) -> bool {
        self.shared
            .objects
            .read(|table| table.get_same_key(object).is_some_and(|shown| Arc::ptr_eq(shown, object)))
    }

    /// The names of all objects.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        self.shared.objects.read(|table| table.iter().map(|object| ObjectKey::of(&**object)).collect())
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
        let (ready, objects) = (*self.ready.borrow(), self.shared.objects.read(Table::len));
        f.debug_struct("Store")
            .field("dyntype", &self.shared.dyntype)
            .field("ready", &ready)
            .field("objects", &objects)
            .finish()
    }
}

pub(super) fn keyed<K: Lookup>(object: Arc<K>) -> (ObjectKey, Arc<K>) {
    (ObjectKey::of(&*object), object)
}
