//! Indexes: finding the objects of a store by computed keys.

use super::{object_key::ObjectKey, object_ref::Lookup, object_table::ObjectTable};
use crate::{capacity::shrunk, unwind::catch_panic};
use hashbrown::{DefaultHashBuilder, HashTable};
use kube_core::ResourceExt;
use std::{
    any::Any,
    borrow::Borrow,
    fmt,
    hash::{BuildHasher, Hash},
    sync::Arc,
};

/// Calls a visitor with each index key of an object.
type Visit<K, T> = dyn Fn(&K, &mut dyn FnMut(T)) + Send + Sync;

/// An index of the objects of a [`Store`](super::Store), by the keys that a function computes from an object.
///
/// Declare it when the store is created, with [`Writer::with_index`](super::store::Writer::with_index) or
/// [`Controller::with_index`](crate::Controller::with_index), and read it with
/// [`Store::by_index`](super::Store::by_index). Clones are the same index. Several stores may use one index.
///
/// ```
/// use k8s_openapi::api::core::v1::{Pod, PodSpec};
/// use kube_runtime::{reflector::{self, Index}, watcher::Event};
///
/// let by_node = Index::new(|pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()));
/// let (store, writer) = reflector::store();
/// let mut writer = writer.with_index(&by_node);
///
/// let mut pod = Pod::default();
/// pod.spec = Some(PodSpec { node_name: Some("node-1".into()), ..PodSpec::default() });
/// writer.apply_watcher_event(&Event::Apply(pod));
/// assert_eq!(store.by_index(&by_node, "node-1").len(), 1);
/// assert!(store.by_index(&by_node, "node-2").is_empty());
/// ```
///
/// # Guarantees
///
/// An index always has the same state as its store, also while a list replaces all objects.
pub struct Index<K: 'static, T: 'static> {
    keys: Arc<Visit<K, T>>,
    id: IndexId,
    hasher: DefaultHashBuilder,
}

/// Which index it is.
#[derive(Debug, Clone)]
pub(super) enum IndexId {
    /// Its clones have the same allocation.
    Custom(Arc<()>),
    Labels,
    Owners,
}

impl PartialEq for IndexId {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Custom(one), Self::Custom(other)) => Arc::ptr_eq(one, other),
            (Self::Labels, Self::Labels) | (Self::Owners, Self::Owners) => true,
            _ => false,
        }
    }
}

impl<K, T> Index<K, T> {
    /// An index by the keys that `keys` returns for an object: an `Option`, a `Vec`, or any other iterable type.
    ///
    /// `keys` must return the same keys for the same state. It is called without a lock, by the task that fills the store, before
    /// readers can see the state. If it panics, or the `Hash` or `Eq` of a key, the index does not find the object: a controller returns an
    /// error for the object, other stores log it.
    #[must_use]
    pub fn new<I>(keys: impl Fn(&K) -> I + Send + Sync + 'static) -> Self
    where
        I: IntoIterator<Item = T>,
    {
        Self {
            keys: Arc::new(move |object, visit| keys(object).into_iter().for_each(visit)),
            id: IndexId::Custom(Arc::new(())),
            hasher: DefaultHashBuilder::default(),
        }
    }

    pub(super) fn id(&self) -> &IndexId {
        &self.id
    }

    /// The index of another representation of the objects of the index `id`.
    pub(super) fn with_id(id: IndexId, keys: impl Fn(&K) -> Vec<T> + Send + Sync + 'static) -> Self {
        Self { id, ..Self::new(keys) }
    }

    /// The keys of an object.
    pub(super) fn keys_of(&self, object: &K) -> Vec<T> {
        let mut keys = Vec::new();
        (self.keys)(object, &mut |key| keys.push(key));
        keys
    }

    /// Whether `key` is one of the keys of the object.
    pub(super) fn has<Q>(&self, object: &K, key: &Q) -> bool
    where
        T: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let mut found = false;
        (self.keys)(object, &mut |one| found |= one.borrow() == key);
        found
    }
}

impl<K: ResourceExt> Index<K, String> {
    /// An index by labels, each as `key=value`. [`Store::state_filter_selector`](super::Store::state_filter_selector) uses it
    /// if the store has it.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_core::ResourceExt;
    /// use kube_runtime::{reflector::{self, Index}, watcher::Event};
    ///
    /// let by_label = Index::labels();
    /// let (store, writer) = reflector::store();
    /// let mut writer = writer.with_index(&by_label);
    ///
    /// let mut map = ConfigMap::default();
    /// map.labels_mut().insert("app".into(), "web".into());
    /// writer.apply_watcher_event(&Event::Apply(map));
    /// assert_eq!(store.by_index(&by_label, "app=web").len(), 1);
    /// assert_eq!(store.state_filter_selector(&"app in (db,web),!canary".parse()?).len(), 1);
    /// # Ok::<(), kube_core::ParseExpressionError>(())
    /// ```
    #[must_use]
    pub fn labels() -> Self {
        let pairs = |object: &K| -> Vec<String> {
            object.labels().iter().map(|(key, value)| pair(key, value)).collect()
        };
        Self { id: IndexId::Labels, ..Self::new(pairs) }
    }

    /// An index by the uids of the owners in `metadata.ownerReferences`. [`Store::owned_by`](super::Store::owned_by) uses it if the
    /// store has it.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_core::{Resource, ResourceExt};
    /// use kube_runtime::{reflector::{self, Index}, watcher::Event};
    ///
    /// let mut owner = Secret::default();
    /// (owner.metadata.name, owner.metadata.uid) = (Some("site".into()), Some("1".into()));
    /// let mut child = ConfigMap::default();
    /// child.owner_references_mut().extend(owner.controller_owner_ref(&()));
    ///
    /// let (store, writer) = reflector::store();
    /// writer.with_index(&Index::owners()).apply_watcher_event(&Event::Apply(child));
    /// assert_eq!(store.owned_by(&owner).len(), 1);
    /// assert!(store.owned_by(&Secret::default()).is_empty());
    /// ```
    #[must_use]
    pub fn owners() -> Self {
        let uids = |object: &K| -> Vec<String> {
            object.owner_references().iter().map(|owner| owner.uid.clone()).collect()
        };
        Self { id: IndexId::Owners, ..Self::new(uids) }
    }
}

impl<K, T> Clone for Index<K, T> {
    fn clone(&self) -> Self {
        Self { keys: Arc::clone(&self.keys), id: self.id.clone(), hasher: self.hasher.clone() }
    }
}

impl<K, T> fmt::Debug for Index<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The index key of a label.
pub(super) fn pair(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

/// The keys of one object, as a type-erased `Vec<HashedKey<T>>`. `None` if the index function panicked.
pub(super) type IndexKeys = Option<Box<dyn Any + Send>>;

/// An object that an index does not find because its code panicked, and the panic message.
pub(crate) type IndexPanic = (ObjectKey, String);

/// A key with its hash, which user code has computed without a lock.
struct HashedKey<T> {
    hash: u64,
    key: T,
}

/// An [`Index`] without the type of its keys: the indexes of one store have keys of different types.
pub(super) trait AnyIndex<K>: Send + Sync {
    /// Calls the index function and hashes the keys. Both are user code, so the caller must not hold a lock. `Err` is the panic message.
    fn keys(&self, object: &K) -> Result<IndexKeys, String>;
    fn empty_buckets(&self) -> Box<dyn AnyBuckets<K>>;
}

impl<K, T> AnyIndex<K> for Index<K, T>
where
    K: Lookup + Send + Sync + 'static,
    T: Eq + Hash + Send + Sync + 'static,
{
    fn keys(&self, object: &K) -> Result<IndexKeys, String> {
        let mut keys: Vec<HashedKey<T>> = Vec::new();
        catch_panic(|| {
            (self.keys)(object, &mut |key| keys.push(HashedKey { hash: self.hasher.hash_one(&key), key }));
        })?;
        Ok(Some(Box::new(keys)))
    }

    fn empty_buckets(&self) -> Box<dyn AnyBuckets<K>> {
        Box::new(IndexBuckets::<K, T> {
            id: self.id.clone(),
            hasher: self.hasher.clone(),
            buckets: HashTable::new(),
            without_keys: ObjectTable::default(),
        })
    }
}

/// [`IndexBuckets`] without the type of their keys.
pub(super) trait AnyBuckets<K>: Any + Send + Sync {
    /// `Err` is the message with which the comparison of keys panicked: the index does not find the object.
    fn insert(&mut self, object: &Arc<K>, keys: IndexKeys) -> Result<(), String>;
    /// Removes an object. `keys` are those that it was inserted with; without them, or if their comparison panics, O(keys of the index).
    fn remove(&mut self, object: &K, keys: IndexKeys);
}

/// The objects of a store by the keys of one index.
pub(super) struct IndexBuckets<K: 'static, T: 'static> {
    id: IndexId,
    hasher: DefaultHashBuilder,
    buckets: HashTable<Bucket<K, T>>,
    /// The objects for which the index panicked.
    without_keys: ObjectTable<K>,
}

/// The objects with one key.
struct Bucket<K, T> {
    key: HashedKey<T>,
    objects: ObjectTable<K>,
}

impl<K: Lookup + 'static, T: Eq + Hash + 'static> IndexBuckets<K, T> {
    /// The objects with this key; `None` if these are not the buckets of that index.
    pub(super) fn find<'a, Q>(
        buckets: &'a dyn AnyBuckets<K>,
        index: &IndexId,
        key: &Q,
    ) -> Option<Option<&'a ObjectTable<K>>>
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let buckets = (buckets as &dyn Any).downcast_ref::<Self>().filter(|it| it.id == *index)?;
        Some(buckets.objects(key))
    }

    fn objects<Q>(&self, key: &Q) -> Option<&ObjectTable<K>>
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let found = self.buckets.find(self.hasher.hash_one(key), |bucket| bucket.key.key.borrow() == key);
        found.map(|bucket| &bucket.objects)
    }

    fn insert_by_keys(&mut self, object: &Arc<K>, keys: Vec<HashedKey<T>>) {
        for key in keys {
            let bucket = self.buckets.entry(key.hash, |it| it.key.key == key.key, |it| it.key.hash);
            let bucket = bucket.or_insert_with(|| Bucket { key, objects: ObjectTable::default() });
            bucket.into_mut().objects.insert(Arc::clone(object));
        }
    }

    fn remove_by_keys(&mut self, object: &K, keys: Vec<HashedKey<T>>) {
        for key in keys {
            if let Ok(mut bucket) = self.buckets.find_entry(key.hash, |it| it.key.key == key.key) {
                bucket.get_mut().objects.remove(object);
                if bucket.get().objects.len() == 0 {
                    bucket.remove();
                }
            }
        }
    }

    /// Without user code.
    fn remove_everywhere(&mut self, object: &K) {
        self.buckets.retain(|bucket| bucket.objects.remove(object).is_none() || bucket.objects.len() > 0);
    }
}

impl<K: Lookup + 'static> IndexBuckets<K, String> {
    /// The objects with one of these labels; `None` if these are not buckets by label.
    pub(super) fn with_label<'a>(
        buckets: &'a dyn AnyBuckets<K>,
        pairs: &[String],
    ) -> Option<Vec<&'a ObjectTable<K>>> {
        let buckets = (buckets as &dyn Any).downcast_ref::<Self>().filter(|it| it.id == IndexId::Labels)?;
        Some(pairs.iter().filter_map(|pair| buckets.objects(pair)).collect())
    }
}

impl<K, T> AnyBuckets<K> for IndexBuckets<K, T>
where
    K: Lookup + Send + Sync + 'static,
    T: Eq + Hash + Send + Sync + 'static,
{
    fn insert(&mut self, object: &Arc<K>, keys: IndexKeys) -> Result<(), String> {
        let inserted = match keys {
            Some(keys) => catch_panic(|| self.insert_by_keys(object, downcast(keys))),
            None => {
                self.without_keys.insert(Arc::clone(object));
                return Ok(()); // the panic of the index function is known
            }
        };
        if inserted.is_err() {
            self.remove_everywhere(object);
            self.without_keys.insert(Arc::clone(object));
        }
        inserted
    }

    fn remove(&mut self, object: &K, keys: IndexKeys) {
        if self.without_keys.remove(object).is_some() {
            return;
        }
        let removed = keys.map(|keys| catch_panic(|| self.remove_by_keys(object, downcast(keys))));
        if !matches!(removed, Some(Ok(()))) {
            self.remove_everywhere(object);
        }
        if let Some(capacity) = shrunk(self.buckets.len(), self.buckets.capacity()) {
            self.buckets.shrink_to(capacity, |bucket| bucket.key.hash);
        }
    }
}

fn downcast<T: 'static>(keys: Box<dyn Any + Send>) -> Vec<HashedKey<T>> {
    *keys.downcast().expect("invariant: the keys come from the same index")
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn an_index_is_equal_to_its_clones_only_and_a_built_in_one_to_its_kind() {
        let (one, other) = (Index::new(|_: &ConfigMap| [0]), Index::new(|_: &ConfigMap| [0]));
        let (labels, owners) = (Index::<ConfigMap, String>::labels(), Index::<ConfigMap, String>::owners());
        assert!(one.id() == one.clone().id() && one.id() != other.id());
        assert!(*labels.id() == IndexId::Labels && *owners.id() == IndexId::Owners);
        assert!(labels.id() == Index::<ConfigMap, String>::labels().id() && labels.id() != owners.id());
        assert!(owners.id() == Index::<ConfigMap, String>::owners().id() && one.id() != owners.id());
        assert_eq!(format!("{labels:?}"), "Index { id: Labels, .. }");
    }

    #[test]
    fn a_key_without_objects_is_removed() {
        let mut buckets = buckets::<u8>();
        let object = Arc::new(ConfigMap::default());
        let keys = |keys: &[u8]| -> IndexKeys { hashed(keys.to_vec()) };
        for removed_with in [keys(&[1, 2]), None] {
            buckets.insert(&object, keys(&[1, 2])).unwrap();
            assert_eq!(buckets.buckets.len(), 2);
            buckets.remove(&object, removed_with);
            assert!(buckets.buckets.is_empty());
        }
    }

    fn buckets<T>() -> IndexBuckets<ConfigMap, T> {
        IndexBuckets {
            id: IndexId::Labels,
            hasher: DefaultHashBuilder::default(),
            buckets: HashTable::new(),
            without_keys: ObjectTable::default(),
        }
    }

    /// All with one hash, so that they are compared.
    fn hashed<T: Send + 'static>(keys: Vec<T>) -> IndexKeys {
        Some(Box::new(keys.into_iter().map(|key| HashedKey { hash: 0, key }).collect::<Vec<_>>()))
    }

    /// The comparison of 0 panics, with anything.
    #[derive(Clone)]
    struct Incomparable(u8);

    impl PartialEq for Incomparable {
        fn eq(&self, other: &Self) -> bool {
            assert!(self.0 != 0 && other.0 != 0, "cannot compare");
            self.0 == other.0
        }
    }

    impl Eq for Incomparable {}

    impl Hash for Incomparable {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn after_a_panic_of_a_comparison_no_other_object_is_affected_and_nothing_is_left() {
        let object = |name: &str| {
            let metadata = kube_core::ObjectMeta { name: Some(name.into()), ..Default::default() };
            Arc::new(ConfigMap { metadata, ..Default::default() })
        };
        let keys = |keys: &[u8]| hashed(keys.iter().copied().map(Incomparable).collect::<Vec<_>>());
        let (good, bad) = (object("good"), object("bad"));
        let mut buckets = buckets::<Incomparable>();
        buckets.insert(&good, keys(&[1])).unwrap();
        assert_eq!(buckets.insert(&bad, keys(&[1, 0])).unwrap_err(), "cannot compare");
        let only_good = |buckets: &IndexBuckets<ConfigMap, Incomparable>| {
            let found: Vec<_> = buckets.buckets.iter().flat_map(|it| it.objects.iter().cloned()).collect();
            found.len() == 1 && Arc::ptr_eq(&found[0], &good)
        };
        assert!(only_good(&buckets) && buckets.without_keys.len() == 1);
        buckets.remove(&bad, keys(&[1, 0]));
        assert!(only_good(&buckets) && buckets.without_keys.len() == 0);
        buckets.remove(&good, keys(&[0]));
        assert!(buckets.buckets.is_empty(), "found without its keys");
    }
}
