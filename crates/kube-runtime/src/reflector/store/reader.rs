//! Reading a cache.

use super::{Store, progress::Progress, writer::in_order};
use crate::reflector::{
    Index, Lookup, ObjectKey, ObjectRef, ReflectHandle, subscription::Subscribers, table::Table,
};
use kube_core::{ResourceExt, Selector, SelectorExt};
use parking_lot::{Mutex, RwLock};
use std::{borrow::Borrow, fmt, hash::Hash, sync::Arc};
use tokio::sync::{Notify, watch};

/// What was waited for cannot come any more: the writer of the cache is gone.
#[derive(Debug, thiserror::Error)]
#[error("the writer of the store was dropped before what was waited for was in the store")]
pub struct WriterDropped(#[source] pub(super) watch::error::RecvError);

/// What readers and the writer share.
pub(super) struct Shared<K: Lookup> {
    pub(super) dyntype: K::DynamicType,
    pub(super) objects: RwLock<Table<K>>,
    /// What the list under way has brought so far. Locked before `objects` where both are.
    pub(super) listed: RwLock<Option<Table<K>>>,
    /// How far the visible objects have come. Changed after `objects`, so that whoever is told finds them.
    pub(super) progress: Mutex<Progress>,
    /// Told of changes whose versions cannot be compared.
    pub(super) changed: Notify,
    pub(super) subscribers: Option<Subscribers<K>>,
}

/// How many lists there were.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lists {
    pub(super) begun: u64,
    /// The number of the last one that came to its end; none is 0.
    pub(super) complete: u64,
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
        self.lists.clone().wait_for(|lists| lists.complete > 0).await.map(drop).map_err(WriterDropped)
    }

    /// Whether the first complete list is in the store.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.lists.borrow().complete > 0
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

    pub(super) fn look_up(&self, namespace: Option<&str>, name: &str) -> Option<Arc<K>> {
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

    /// The objects that have `key` in this index, in no particular order. O(number of them) where the index was
    /// declared with [`Writer::with_index`](super::Writer::with_index); otherwise the same, in O(n).
    #[must_use]
    pub fn by_index<T, Q>(&self, index: &Index<K, T>, key: &Q) -> Vec<Arc<K>>
    where
        T: Borrow<Q> + Eq + Hash + Send + Sync + 'static,
        Q: Eq + Hash + ?Sized,
    {
        let objects = self.shared.objects.read_recursive();
        match objects.indexed(index, key) {
            Some(found) => found.into_iter().flatten().cloned().collect(),
            None => objects.iter().filter(|object| index.has(object, key)).cloned().collect(),
        }
    }

    /// The objects whose labels match, in no particular order. O(n); where the store has an
    /// [`Index::labels`] and the selector asks for the value of a label, O(number of objects with that label and value).
    #[must_use]
    pub fn state_filter_selector(&self, selector: &Selector) -> Vec<Arc<K>>
    where
        K: ResourceExt,
    {
        let matches = |object: &&Arc<K>| selector.matches(object.labels());
        let objects = self.shared.objects.read_recursive();
        match objects.candidates(selector) {
            Some(some) => some.filter(matches).cloned().collect(),
            None => objects.iter().filter(matches).cloned().collect(),
        }
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
        let objects = self.shared.objects.read_recursive();
        let mut present: Vec<_> = objects.iter().cloned().collect();
        in_order(&mut present);
        self.shared.subscribers.as_ref().map(|subscribers| subscribers.add(self.clone(), present))
    }

    pub(in crate::reflector) fn shared_subscribers(&self) -> Option<&Subscribers<K>> {
        self.shared.subscribers.as_ref()
    }

    /// Adds an index of what is there and of what comes. O(n) where something is there.
    pub(crate) fn add_index<T>(&self, index: &Index<K, T>)
    where
        K: Send + Sync,
        T: Eq + Hash + Send + Sync + 'static,
    {
        if let Some(listed) = &mut *self.shared.listed.write() {
            listed.add_index(index);
        }
        self.shared.objects.write().add_index(index);
    }

    pub(crate) fn dyntype(&self) -> &K::DynamicType {
        &self.shared.dyntype
    }

    /// Whether this very state of the object is what readers see.
    pub(crate) fn shows(&self, object: &Arc<K>) -> bool {
        let objects = self.shared.objects.read_recursive();
        objects.counterpart(object).is_some_and(|shown| Arc::ptr_eq(shown, object))
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
        Self { shared: Arc::clone(&self.shared), lists: self.lists.clone() }
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
            .field("ready", &(self.lists.borrow().complete > 0))
            .field("objects", &objects.len())
            .finish()
    }
}
