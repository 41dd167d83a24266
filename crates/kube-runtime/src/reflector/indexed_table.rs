//! A table of objects by key and by each declared index.

use super::{
    index::{AnyBuckets, AnyIndex, IndexBuckets, IndexId, IndexKeys, IndexPanic, pair},
    object_key::ObjectKey,
    object_ref::Lookup,
    object_table::ObjectTable,
};
use crate::capacity::Shrink;
use kube_core::{Expression, Selector};
use std::{borrow::Borrow, hash::Hash, sync::Arc};

/// Objects by key and by each declared index. An update costs O(1) in the number of objects.
///
/// Index functions are user code. The caller of an update calls them before, by [`DeclaredIndexes::keys`], without a lock.
pub(super) struct IndexedTable<K> {
    objects: ObjectTable<K>,
    indexes: Vec<Box<dyn AnyBuckets<K>>>,
}

/// The indexes of a table, in the order of its buckets.
pub(super) struct DeclaredIndexes<K>(Vec<Arc<dyn AnyIndex<K>>>);

impl<K> DeclaredIndexes<K> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, index: Arc<dyn AnyIndex<K>>) {
        self.0.push(index);
    }

    /// The keys of an object in each index. See [`keys_or_none`].
    pub(super) fn keys(&self, object: &K, mut on_panic: impl FnMut(String)) -> Vec<IndexKeys> {
        self.0.iter().map(|index| keys_or_none(&**index, object, &mut on_panic)).collect()
    }
}

/// The keys of an object in an index. If the index function panics, calls `on_panic` with its message and returns `None`.
pub(super) fn keys_or_none<K>(
    index: &dyn AnyIndex<K>,
    object: &K,
    on_panic: &mut impl FnMut(String),
) -> IndexKeys {
    index.keys(object).unwrap_or_else(|message| {
        on_panic(message);
        None
    })
}

impl<K> Default for DeclaredIndexes<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K> Default for IndexedTable<K> {
    fn default() -> Self {
        Self { objects: ObjectTable::default(), indexes: Vec::new() }
    }
}

impl<K: Lookup + 'static> IndexedTable<K> {
    /// An empty table with these indexes.
    pub(super) fn with_capacity(capacity: usize, declared: &DeclaredIndexes<K>) -> Self {
        let indexes = declared.0.iter().map(|index| index.empty_buckets()).collect();
        Self { objects: ObjectTable::with_capacity(capacity), indexes }
    }

    /// Adds an index, with all objects of the table.
    pub(super) fn add_index(&mut self, buckets: Box<dyn AnyBuckets<K>>) {
        self.indexes.push(buckets);
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.objects.iter()
    }

    pub(super) fn get(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<K>> {
        self.objects.get(namespace, name)
    }

    /// The stored object with the key of `object`.
    pub(super) fn get_same_key(&self, object: &K) -> Option<&Arc<K>> {
        self.objects.get_same_key(object)
    }

    /// The objects that have `key` in `index`; `None` if the index was not declared.
    pub(super) fn indexed<T, Q>(
        &self,
        index: &IndexId,
        key: &Q,
    ) -> Option<Option<impl Iterator<Item = &Arc<K>>>>
    where
        T: Borrow<Q> + Eq + Hash + 'static,
        Q: Eq + Hash + ?Sized,
    {
        let found =
            self.indexes.iter().find_map(|buckets| IndexBuckets::<K, T>::find(&**buckets, index, key))?;
        Some(found.map(ObjectTable::iter))
    }

    /// A superset of the objects that the selector matches; `None` if no index by label applies.
    pub(super) fn candidates(&self, selector: &Selector) -> Option<impl Iterator<Item = &Arc<K>>> {
        if self.indexes.is_empty() {
            return None;
        }
        let mut alternatives = selector.clone().into_iter().filter_map(pairs);
        let pairs = alternatives.next()?;
        let found = self.indexes.iter().find_map(|buckets| IndexBuckets::with_label(&**buckets, &pairs))?;
        Some(found.into_iter().flat_map(ObjectTable::iter))
    }

    /// Inserts an object, with the index keys of the stored state and of the new one. Returns the replaced object, to be dropped
    /// without a lock. Adds the panics of comparisons of keys to `panics`.
    pub(super) fn insert(
        &mut self,
        object: Arc<K>,
        old_keys: Vec<IndexKeys>,
        new_keys: Vec<IndexKeys>,
        panics: &mut Vec<IndexPanic>,
    ) -> Option<Arc<K>> {
        for (index, keys) in self.indexes.iter_mut().zip(old_keys) {
            index.remove(&object, keys);
        }
        for (index, keys) in self.indexes.iter_mut().zip(new_keys) {
            if let Err(message) = index.insert(&object, keys) {
                panics.push((ObjectKey::of(&*object), message));
            }
        }
        self.objects.insert(object)
    }

    /// Removes the object with the key of `object`, with the index keys of the stored state.
    pub(super) fn remove(&mut self, object: &K, old_keys: Vec<IndexKeys>) -> Option<Arc<K>> {
        for (index, keys) in self.indexes.iter_mut().zip(old_keys) {
            index.remove(object, keys);
        }
        self.objects.remove(object)
    }
}

/// A new list has room for as many objects as there were before.
impl<K: Lookup> Shrink for IndexedTable<K> {
    fn shrink(&mut self) {
        self.objects.shrink();
    }
}

/// The labels of which an object must have at least one to match the expression; `None` if it requires none.
fn pairs(expression: Expression) -> Option<Vec<String>> {
    match expression {
        Expression::Equal(key, value) => Some(vec![pair(&key, &value)]),
        Expression::In(key, values) => Some(values.iter().map(|value| pair(&key, value)).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::index::Index, *};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_core::ResourceExt;

    fn labelled(name: &str, app: &str) -> Arc<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.into());
        object.labels_mut().insert("app".into(), app.into());
        Arc::new(object)
    }

    fn table(declared: &DeclaredIndexes<ConfigMap>) -> IndexedTable<ConfigMap> {
        let mut table = IndexedTable::with_capacity(0, declared);
        for object in [labelled("a", "web"), labelled("b", "db"), labelled("c", "web")] {
            let keys = declared.keys(&object, |panic| panic!("{panic}"));
            table.insert(object, Vec::new(), keys, &mut Vec::new());
        }
        table
    }

    fn candidates(table: &IndexedTable<ConfigMap>, selector: &str) -> Option<Vec<String>> {
        let selector = selector.parse().unwrap();
        let mut names: Vec<String> = table.candidates(&selector)?.map(|object| object.name_any()).collect();
        names.sort_unstable();
        Some(names)
    }

    #[test]
    fn an_index_by_label_narrows_down_what_a_selector_can_match() {
        let mut declared = DeclaredIndexes::default();
        assert!(declared.is_empty());
        declared.push(Arc::new(Index::<ConfigMap, String>::owners()));
        assert!(!declared.is_empty());
        assert_eq!(candidates(&table(&declared), "app=web"), None, "no index by label");
        declared.push(Arc::new(Index::<ConfigMap, String>::labels()));
        let table = table(&declared);
        let some = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
        assert_eq!(candidates(&table, "app=web"), some(&["a", "c"]));
        assert_eq!(candidates(&table, "!canary,app in (db,cache)"), some(&["b"]));
        assert_eq!(candidates(&table, "app=none"), some(&[]));
        assert_eq!(candidates(&table, "app!=web"), None, "any object may match");
        let by_label =
            |pair| table.indexed::<String, str>(&IndexId::Labels, pair).unwrap().map(Iterator::count);
        assert_eq!((by_label("app=web"), by_label("app=none")), (Some(2), None));
        assert!(table.indexed::<String, str>(&IndexId::Owners, "1").is_some_and(|found| found.is_none()));
    }
}
