//! The objects of a cache, with all its ways to find them.

use super::{
    Index, Lookup,
    by_name::ByName,
    index::{AnyPostings, Postings, pair},
};
use kube_core::{Expression, Selector};
use std::{borrow::Borrow, hash::Hash, sync::Arc};

/// Objects by name and by each declared index. What an update costs does not depend on how many there are.
pub(super) struct Table<K> {
    objects: ByName<K>,
    indexes: Vec<Box<dyn AnyPostings<K>>>,
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self { objects: ByName::default(), indexes: Vec::new() }
    }
}

impl<K: Lookup + 'static> Table<K> {
    /// A table with the same indexes, without objects but with room for as many.
    pub(super) fn emptied(&self) -> Self {
        let indexes = self.indexes.iter().map(|index| index.emptied()).collect();
        Self { objects: ByName::with_capacity(self.len()), indexes }
    }

    pub(super) fn add_index<T>(&mut self, index: &Index<K, T>)
    where
        K: Send + Sync,
        T: Eq + Hash + Send + Sync + 'static,
    {
        let mut postings = Postings::of(index);
        self.objects.iter().for_each(|object| postings.insert(object));
        self.indexes.push(Box::new(postings));
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
    pub(super) fn counterpart(&self, object: &K) -> Option<&Arc<K>> {
        self.objects.counterpart(object)
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
        let found = self.indexes.iter().find_map(|postings| Postings::find(&**postings, index, key))?;
        Some(found.map(ByName::iter))
    }

    /// Some objects, among them all that the selector matches; `None` where no index by labels helps.
    pub(super) fn candidates(&self, selector: &Selector) -> Option<impl Iterator<Item = &Arc<K>>> {
        if self.indexes.is_empty() {
            return None;
        }
        let mut alternatives = selector.clone().into_iter().filter_map(pairs);
        let pairs = alternatives.next()?;
        let found = self.indexes.iter().find_map(|postings| Postings::labelled(&**postings, &pairs))?;
        Some(found.into_iter().flat_map(ByName::iter))
    }

    pub(super) fn insert(&mut self, object: Arc<K>) {
        if self.indexes.is_empty() {
            self.objects.insert(object);
            return;
        }
        let before = self.objects.insert(Arc::clone(&object));
        if before.as_ref().is_some_and(|before| Arc::ptr_eq(before, &object)) {
            return;
        }
        for index in &mut self.indexes {
            if let Some(before) = &before {
                index.remove(before);
            }
            index.insert(&object);
        }
    }

    pub(super) fn remove(&mut self, object: &K) -> Option<Arc<K>> {
        let before = self.objects.remove(object)?;
        self.indexes.iter_mut().for_each(|index| index.remove(&before));
        Some(before)
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
