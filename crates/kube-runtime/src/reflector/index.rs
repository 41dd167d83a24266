//! Finding the objects of a cache by something else than their names.

use super::{Lookup, by_name::ByName};
use crate::unwind::catch_panic;
use ahash::AHashMap;
use kube_core::ResourceExt;
use std::{any::Any, borrow::Borrow, fmt, hash::Hash, sync::Arc};

/// Hands each key of an object to a visitor.
type Visit<K, T> = dyn Fn(&K, &mut dyn FnMut(T)) + Send + Sync;

/// A way to find objects of a [`Store`](super::Store): by the keys that a function makes of them.
///
/// Declare it when the store is made, with [`Writer::with_index`](super::store::Writer::with_index) or
/// [`Controller::with_index`](crate::Controller::with_index), and look up with
/// [`Store::by_index`](super::Store::by_index). Clones are the same index; one index may serve several stores.
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
/// An index shows the same state as the store itself, also while a list replaces everything.
pub struct Index<K: 'static, T: 'static> {
    keys: Arc<Visit<K, T>>,
    of_labels: bool,
}

impl<K, T> Index<K, T> {
    /// An index by what `keys` makes of an object: an `Option`, a `Vec`, or whatever can be iterated.
    ///
    /// `keys` has to make the same of the same state each time. It runs without a lock, in the task that fills the store, before the
    /// state that it is called for can be seen. If it panics, the index does not find the object; a controller reports it as an error of the object,
    /// other stores in the log.
    #[must_use]
    pub fn new<I>(keys: impl Fn(&K) -> I + Send + Sync + 'static) -> Self
    where
        I: IntoIterator<Item = T>,
    {
        Self {
            keys: Arc::new(move |object, visit| keys(object).into_iter().for_each(visit)),
            of_labels: false,
        }
    }

    /// Whether it is about the same: made of the same function, or by labels both.
    fn is(&self, other: &Self) -> bool {
        (self.of_labels && other.of_labels) || Arc::ptr_eq(&self.keys, &other.keys)
    }

    /// Whether `key` is among the keys of the object.
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
    /// The ready-made index by labels, each as `key=value`. A store that has it answers
    /// [`Store::state_filter_selector`](super::Store::state_filter_selector) from it where it can.
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
        Self { of_labels: true, ..Self::new(pairs) }
    }
}

impl<K, T> Clone for Index<K, T> {
    fn clone(&self) -> Self {
        Self { keys: Arc::clone(&self.keys), of_labels: self.of_labels }
    }
}

impl<K, T> fmt::Debug for Index<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("of_labels", &self.of_labels).finish_non_exhaustive()
    }
}

/// The key of a label in an index by labels.
pub(super) fn pair(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

/// What an index function makes of one object: a `Vec` of keys, whatever their type. `None` if it panicked.
pub(super) type IndexKeys = Option<Box<dyn Any + Send>>;

/// A declared index, whatever the type of its keys.
pub(super) trait AnyIndex<K>: Send + Sync {
    /// Calls the index function. This is code of users, so no lock may be held. `Err` is what its panic said.
    fn keys(&self, object: &K) -> Result<IndexKeys, String>;
    /// The index without objects.
    fn buckets(&self) -> Box<dyn AnyBuckets<K>>;
}

impl<K, T> AnyIndex<K> for Index<K, T>
where
    K: Lookup + Send + Sync + 'static,
    T: Eq + Hash + Send + Sync + 'static,
{
    fn keys(&self, object: &K) -> Result<IndexKeys, String> {
        let mut keys: Vec<T> = Vec::new();
        catch_panic(|| (self.keys)(object, &mut |key| keys.push(key)))?;
        Ok(Some(Box::new(keys)))
    }

    fn buckets(&self) -> Box<dyn AnyBuckets<K>> {
        Box::new(IndexBuckets { index: self.clone(), objects: AHashMap::new(), unfound: ByName::default() })
    }
}

/// The objects of a store by the keys of one index, whatever their type.
pub(super) trait AnyBuckets<K>: Any + Send + Sync {
    fn insert(&mut self, object: &Arc<K>, keys: IndexKeys);
    /// Takes an object out. O(keys of the index) for one that was inserted with keys that are not known any more.
    fn remove(&mut self, object: &K, keys: IndexKeys);
}

/// The objects of a store by the keys of one index.
pub(super) struct IndexBuckets<K: 'static, T: 'static> {
    index: Index<K, T>,
    objects: AHashMap<T, ByName<K>>,
    /// The objects that have no keys, because the function panicked.
    unfound: ByName<K>,
}

impl<K: Lookup + 'static, T: Eq + Hash + 'static> IndexBuckets<K, T> {
    /// The objects with this key, if these are the buckets of `index`.
    pub(super) fn find<'a, Q>(
        buckets: &'a dyn AnyBuckets<K>,
        index: &Index<K, T>,
        key: &Q,
    ) -> Option<Option<&'a ByName<K>>>
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let buckets = (buckets as &dyn Any).downcast_ref::<Self>().filter(|it| it.index.is(index))?;
        Some(buckets.objects.get(key))
    }
}

impl<K: Lookup + 'static> IndexBuckets<K, String> {
    /// The objects with one of these labels, if these are buckets by labels.
    pub(super) fn labelled<'a>(
        buckets: &'a dyn AnyBuckets<K>,
        pairs: &[String],
    ) -> Option<Vec<&'a ByName<K>>> {
        let buckets = (buckets as &dyn Any).downcast_ref::<Self>().filter(|it| it.index.of_labels)?;
        Some(pairs.iter().filter_map(|pair| buckets.objects.get(pair)).collect())
    }
}

impl<K, T> AnyBuckets<K> for IndexBuckets<K, T>
where
    K: Lookup + Send + Sync + 'static,
    T: Eq + Hash + Send + Sync + 'static,
{
    fn insert(&mut self, object: &Arc<K>, keys: IndexKeys) {
        let Some(keys) = keys else {
            self.unfound.insert(Arc::clone(object));
            return;
        };
        for key in typed::<T>(keys) {
            self.objects.entry(key).or_default().insert(Arc::clone(object));
        }
    }

    fn remove(&mut self, object: &K, keys: IndexKeys) {
        if self.unfound.remove(object).is_some() {
            return;
        }
        let Some(keys) = keys else {
            self.objects.retain(|_, same_key| same_key.remove(object).is_none() || same_key.len() > 0);
            return;
        };
        for key in typed::<T>(keys) {
            if let Some(same_key) = self.objects.get_mut(&key) {
                same_key.remove(object);
                if same_key.len() == 0 {
                    self.objects.remove(&key);
                }
            }
        }
    }
}

fn typed<T: 'static>(keys: Box<dyn Any + Send>) -> Vec<T> {
    *keys.downcast().expect("invariant: the keys were made by the same index")
}
