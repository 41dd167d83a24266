//! [`Store`]: reads the objects of a cache.

#[cfg(test)]
use super::shared::SharedWatermarks;
use super::{
    error::{Undecodable, WriterDropped},
    shared::Shared,
};
use crate::{
    reflector::{Index, Lookup, ObjectKey, ObjectRef, compact::CompactCache, indexed_table::IndexedTable},
    watcher::Selected,
};
use kube_client::reconcile::observe_read;
use kube_core::{Resource, ResourceExt, Selector, SelectorExt, reconcile::StoreRead};
use std::{
    borrow::{Borrow, Cow},
    fmt,
    hash::Hash,
    sync::Arc,
};
use tokio::sync::watch;

/// Reads the cached objects of one kind. Clones read the same cache.
///
/// Every call returns a snapshot: later events do not change it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::{Expression, ResourceExt, Selector};
/// use kube_runtime::{reflector::{self, ObjectRef}, watcher::Event};
/// # let map = |name: &str, tier: &str| -> Result<ConfigMap, serde_json::Error> {
/// #     let metadata = serde_json::json!({ "name": name, "namespace": "shop", "labels": { "tier": tier } });
/// #     Ok(ConfigMap { metadata: serde_json::from_value(metadata)?, ..ConfigMap::default() })
/// # };
///
/// let (store, mut writer) = reflector::store::<ConfigMap>();
/// assert!(store.is_empty() && !store.is_ready());
/// writer.apply_watcher_event(&Event::Init);
/// for (name, tier) in [("front", "web"), ("back", "api")] {
///     writer.apply_watcher_event(&Event::InitApply(map(name, tier)?));
/// }
/// writer.apply_watcher_event(&Event::InitDone);
///
/// assert!(store.is_ready() && store.len() == 2 && store.state().len() == 2);
/// assert!(store.get(&ObjectRef::new("front").within("shop")).is_some());
/// assert!(store.find(|map| map.name_any() == "side").is_none());
/// assert_eq!(store.state_filter(|map| map.name_any().ends_with("ck")).len(), 1);
/// let web = Selector::from(Expression::Equal("tier".into(), "web".into()));
/// assert_eq!(store.state_filter_selector(&web)[0].name_any(), "front");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct Store<K: 'static + Lookup>
where
    K::DynamicType: Hash + Eq,
{
    pub(super) cache: Cache<K>,
    /// Whether the first list is complete.
    pub(super) ready: watch::Receiver<bool>,
}

/// How the objects are kept.
pub(super) enum Cache<K: 'static + Lookup> {
    /// Decoded.
    Decoded(Arc<Shared<K>>),
    /// Compressed, as received.
    Compact(CompactCache<K>),
}

impl<K: 'static + Clone + Lookup> Store<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// Waits until the first complete list is in the store. Returns at once if it already is.
    ///
    /// The stream that fills the store has to be polled meanwhile.
    ///
    /// # Errors
    ///
    /// [`WriterDropped`] if the writer is dropped before.
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
    /// assert!(orphan.wait_until_ready().await.is_err(), "an error instead of a hang");
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

    /// The object with this key. O(1).
    ///
    /// A cluster-scoped object is also found by a key with a namespace, because keys made from owner references contain the
    /// namespace of the child.
    #[must_use]
    pub fn get(&self, key: &ObjectRef<K>) -> Option<Arc<K>> {
        self.try_get(key).ok().flatten() // an error was logged
    }

    /// Like [`get`](Self::get), with an error for an object that cannot be decoded.
    ///
    /// Only a compact cache decodes objects when they are read; other stores never return an error.
    ///
    /// # Errors
    ///
    /// [`Undecodable`] names the object and the field.
    pub fn try_get(&self, key: &ObjectRef<K>) -> Result<Option<Arc<K>>, Undecodable> {
        if key.dyntype != *self.dyntype() {
            return Ok(None);
        }
        let (namespace, name) = (key.namespace.as_deref(), &*key.name);
        let object = self.lookup(namespace, name);
        observe_read(|| {
            let version = object.as_ref().ok().and_then(|it| it.as_ref()?.resource_version());
            let (group, plural) = (K::group(self.dyntype()), K::plural(self.dyntype()));
            StoreRead::of_object(group, plural, namespace, name, version.map(Cow::into_owned))
        });
        object
    }

    /// A reconcile reads any number of objects.
    fn observe_many(&self) {
        observe_read(|| StoreRead::of_many(K::group(self.dyntype()), K::plural(self.dyntype())));
    }

    /// The newest state of the object, also from the running list if that contains it.
    ///
    /// A reconcile triggered by an event of a list must see the state in that event, not the state before the list.
    pub(crate) fn newest(&self, key: &ObjectKey) -> Result<Option<Arc<K>>, Undecodable> {
        match &self.cache {
            Cache::Decoded(shared) => Ok(shared.newest(key)),
            Cache::Compact(cache) => cache.decode_found(cache.shared.newest(key)),
        }
    }

    /// Whether there is a visible object with this key, or one in the running list.
    pub(crate) fn has(&self, key: &ObjectKey) -> bool {
        match &self.cache {
            Cache::Decoded(shared) => shared.newest(key).is_some(),
            Cache::Compact(cache) => cache.shared.newest(key).is_some(),
        }
    }

    pub(super) fn lookup(&self, namespace: Option<&str>, name: &str) -> Result<Option<Arc<K>>, Undecodable> {
        match &self.cache {
            Cache::Decoded(shared) => Ok(shared.lookup(namespace, name)),
            Cache::Compact(cache) => cache.decode_found(cache.shared.lookup(namespace, name)),
        }
    }

    /// All objects, in no particular order. O(n).
    #[must_use]
    pub fn state(&self) -> Vec<Arc<K>> {
        self.snapshot().collect()
    }

    /// All objects of this time, each decoded when the iterator reaches it.
    fn snapshot(&self) -> Box<dyn Iterator<Item = Arc<K>> + '_> {
        self.observe_many();
        match &self.cache {
            Cache::Decoded(shared) => Box::new(shared.snapshot().into_iter()),
            Cache::Compact(cache) => Box::new(cache.decode_all(cache.shared.snapshot())),
        }
    }

    /// The objects for which `predicate` returns true, in no particular order. O(n).
    ///
    /// `predicate` runs without a lock on a snapshot: it blocks neither the writer nor other readers.
    #[must_use]
    pub fn state_filter<P>(&self, predicate: P) -> Vec<Arc<K>>
    where
        P: Fn(&K) -> bool,
    {
        self.snapshot().filter(|object| predicate(object)).collect()
    }

    /// The objects that have `key` in this index, in no particular order. O(number of results) if the index was declared with
    /// [`Writer::with_index`](super::Writer::with_index); otherwise O(n).
    #[must_use]
    pub fn by_index<T, Q>(&self, index: &Index<K, T>, key: &Q) -> Vec<Arc<K>>
    where
        T: Borrow<Q> + Eq + Hash + Send + Sync + 'static,
        Q: Eq + Hash + ?Sized,
    {
        self.observe_many();
        match &self.cache {
            Cache::Decoded(shared) => shared
                .indexed::<T, Q>(index.id(), key)
                .unwrap_or_else(|| self.state_filter(|object| index.has(object, key))),
            Cache::Compact(cache) => cache.by_index(index, key),
        }
    }

    /// The objects with an owner reference to `owner`, in no particular order. O(number of results) if the store has an
    /// [`Index::owners`], as the store of [`Related::store`](crate::controller::Related::store) has; otherwise O(n).
    ///
    /// Owners are compared by uid, so that the children of a deleted object of the same name are not among them.
    #[must_use]
    pub fn owned_by<O: Resource>(&self, owner: &O) -> Vec<Arc<K>>
    where
        K: ResourceExt,
    {
        match owner.meta().uid.as_deref() {
            Some(uid) => self.by_index(&Index::owners(), uid),
            None => Vec::new(),
        }
    }

    /// The objects whose labels match, in no particular order. O(n); if the store has an [`Index::labels`] and the selector
    /// requires a value of a label, O(number of objects with that label and value).
    #[must_use]
    pub fn state_filter_selector(&self, selector: &Selector) -> Vec<Arc<K>>
    where
        K: ResourceExt,
    {
        self.observe_many();
        match &self.cache {
            Cache::Decoded(shared) => {
                let candidates = shared.candidates(selector).into_iter();
                candidates.filter(|object| selector.matches(object.labels())).collect()
            }
            Cache::Compact(cache) => cache.selected_by(selector),
        }
    }

    /// Any object for which `predicate` returns true. O(n).
    ///
    /// `predicate` runs without a lock on a snapshot: it blocks neither the writer nor other readers.
    #[must_use]
    pub fn find<P>(&self, predicate: P) -> Option<Arc<K>>
    where
        P: Fn(&K) -> bool,
    {
        self.snapshot().find(|object| predicate(object))
    }

    /// The number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Declares an index of current and future objects. The writer adds it with its next change; until then, a lookup is O(n).
    pub(crate) fn add_index<T>(&self, index: &Index<K, T>)
    where
        K: Send + Sync,
        T: Eq + Hash + Send + Sync + 'static,
    {
        match &self.cache {
            Cache::Decoded(shared) => shared.pending_indexes.lock().push(Arc::new(index.clone())),
            Cache::Compact(cache) => cache.add_index(index),
        }
    }

    /// The type of the objects; for kinds known only at run time, that of the writer.
    pub fn dyntype(&self) -> &K::DynamicType {
        self.cache.dyntype()
    }

    /// Whether readers see exactly this `Arc`, which the writer has returned.
    pub(crate) fn contains(&self, object: &Arc<K>) -> bool {
        match &self.cache {
            Cache::Decoded(shared) => shared.contains(object),
            Cache::Compact(_) => false, // its writer returns no decoded objects
        }
    }

    /// Whether it has the object with this key and uid, also if only the running list has brought it.
    pub(crate) fn has_uid(&self, key: &ObjectKey, uid: Option<&str>) -> bool {
        match &self.cache {
            Cache::Decoded(shared) => shared.has_uid(key, uid),
            Cache::Compact(cache) => cache.shared.has_uid(key, uid),
        }
    }

    /// The objects that the watch selects which fills it; all, if that is not known.
    pub(crate) fn selected(&self) -> Selected {
        let selected = match &self.cache {
            Cache::Decoded(shared) => shared.selected.get(),
            Cache::Compact(cache) => cache.shared.selected.get(),
        };
        selected.cloned().unwrap_or_else(Selected::all)
    }

    /// The keys of all objects, also of those that only the running list, or one that broke off, has brought so far: their changes have
    /// triggered already. A key may be there twice.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        match &self.cache {
            Cache::Decoded(shared) => shared.keys(),
            Cache::Compact(cache) => cache.shared.keys(),
        }
    }
}

impl<K: 'static + Lookup> Cache<K> {
    fn len(&self) -> usize {
        match self {
            Self::Decoded(shared) => shared.objects.read(IndexedTable::len),
            Self::Compact(cache) => cache.shared.objects.read(IndexedTable::len),
        }
    }

    #[cfg(test)]
    pub(super) fn watermarks(&self) -> &SharedWatermarks {
        match self {
            Self::Decoded(shared) => &shared.watermarks,
            Self::Compact(cache) => &cache.shared.watermarks,
        }
    }

    fn dyntype(&self) -> &K::DynamicType {
        match self {
            Self::Decoded(shared) => &shared.dyntype,
            Self::Compact(cache) => cache.dyntype(),
        }
    }
}

impl<K: 'static + Lookup> Clone for Cache<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Decoded(shared) => Self::Decoded(Arc::clone(shared)),
            Self::Compact(cache) => Self::Compact(cache.clone()),
        }
    }
}

impl<K: 'static + Lookup> Clone for Store<K>
where
    K::DynamicType: Hash + Eq,
{
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone(), ready: self.ready.clone() }
    }
}

impl<K: fmt::Debug + 'static + Lookup> fmt::Debug for Store<K>
where
    K::DynamicType: Hash + Eq + fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ready, objects) = (*self.ready.borrow(), self.cache.len());
        f.debug_struct("Store")
            .field("dyntype", self.cache.dyntype())
            .field("ready", &ready)
            .field("objects", &objects)
            .field("compact", &!matches!(self.cache, Cache::Decoded(_)))
            .finish()
    }
}
