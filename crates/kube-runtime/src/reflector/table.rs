//! The objects of a cache, with all its ways to find them.

use super::{
    Index, Lookup,
    by_name::ByName,
    index::{AnyBuckets, AnyIndex, IndexBuckets, IndexKeys, pair},
};
use kube_core::{Expression, Selector};
use std::{borrow::Borrow, hash::Hash, sync::Arc};

/// Objects by name and by each declared index. What an update costs does not depend on how many there are.
///
/// Index functions are code of users: whoever changes a table calls them before, through [`Declared`].
pub(super) struct Table<K> {
    objects: ByName<K>,
    indexes: Vec<Box<dyn AnyBuckets<K>>>,
}

/// The indexes of a table, in its order.
pub(super) struct Declared<K>(Vec<Arc<dyn AnyIndex<K>>>);

impl<K> Declared<K> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, index: Arc<dyn AnyIndex<K>>) {
        self.0.push(index);
    }

    /// The keys of an object in each of them. An index function that panics gives none, and `panicked` is told what it said.
    pub(super) fn keys(&self, object: &K, mut panicked: impl FnMut(String)) -> Vec<IndexKeys> {
        self.0.iter().map(|index| keys_or_none(&**index, object, &mut panicked)).collect()
    }
}

/// The keys of an object in an index.
pub(super) fn keys_or_none<K>(
    index: &dyn AnyIndex<K>,
    object: &K,
    panicked: &mut impl FnMut(String),
) -> IndexKeys {
    index.keys(object).unwrap_or_else(|message| {
        panicked(message);
        None
    })
}

impl<K> Default for Declared<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self { objects: ByName::default(), indexes: Vec::new() }
    }
}

impl<K: Lookup + 'static> Table<K> {
    /// A table with these indexes, without objects but with room for so many.
    pub(super) fn with_room(capacity: usize, declared: &Declared<K>) -> Self {
        let indexes = declared.0.iter().map(|index| index.buckets()).collect();
        Self { objects: ByName::with_capacity(capacity), indexes }
    }

    /// Adds an index. `keys` are what it makes of each object that is there.
    pub(super) fn add_index(
        &mut self,
        index: &dyn AnyIndex<K>,
        keys: impl IntoIterator<Item = (Arc<K>, IndexKeys)>,
    ) {
        let mut buckets = index.buckets();
        keys.into_iter().for_each(|(object, keys)| buckets.insert(&object, keys));
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

    /// The present state of the object that `object` is a state of.
    pub(super) fn get_same_key(&self, object: &K) -> Option<&Arc<K>> {
        self.objects.get_same_key(object)
    }

    /// The objects that have `key` in `index`; `None` where that index was not declared.
    pub(super) fn indexed<T, Q>(
        &self,
        index: &Index<K, T>,
        key: &Q,
    ) -> Option<Option<impl Iterator<Item = &Arc<K>>>>
    where
        T: Borrow<Q> + Eq + Hash + 'static,
        Q: Eq + Hash + ?Sized,
    {
        let found = self.indexes.iter().find_map(|buckets| IndexBuckets::find(&**buckets, index, key))?;
        Some(found.map(ByName::iter))
    }

    /// Some objects, among them all that the selector matches; `None` where no index by labels helps.
    pub(super) fn candidates(&self, selector: &Selector) -> Option<impl Iterator<Item = &Arc<K>>> {
        if self.indexes.is_empty() {
            return None;
        }
        let mut alternatives = selector.clone().into_iter().filter_map(pairs);
        let pairs = alternatives.next()?;
        let found = self.indexes.iter().find_map(|buckets| IndexBuckets::labelled(&**buckets, &pairs))?;
        Some(found.into_iter().flat_map(ByName::iter))
    }

    /// Puts an object in its place. `before` and `after` are the keys of the state that was there and of this one. Returns what
    /// was there, to be dropped without a lock.
    pub(super) fn insert(
        &mut self,
        object: Arc<K>,
        before: Vec<IndexKeys>,
        after: Vec<IndexKeys>,
    ) -> Option<Arc<K>> {
        for (index, keys) in self.indexes.iter_mut().zip(before) {
            index.remove(&object, keys);
        }
        for (index, keys) in self.indexes.iter_mut().zip(after) {
            index.insert(&object, keys);
        }
        self.objects.insert(object)
    }

    /// Takes the object of this name out. `before` are the keys of the state that is there.
    pub(super) fn remove(&mut self, object: &K, before: Vec<IndexKeys>) -> Option<Arc<K>> {
        for (index, keys) in self.indexes.iter_mut().zip(before) {
            index.remove(object, keys);
        }
        self.objects.remove(object)
    }
}

/// The labels of which an object must have one to fulfil the expression, where it asks for any.
fn pairs(expression: Expression) -> Option<Vec<String>> {
    match expression {
        Expression::Equal(key, value) => Some(vec![pair(&key, &value)]),
        Expression::In(key, values) => Some(values.iter().map(|value| pair(&key, value)).collect()),
        _ => None,
    }
}
