//! A hash table of objects by key, without a copy of the keys.

use super::object_ref::Lookup;
use crate::capacity::{Shrink, release, shrunk};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::{borrow::Cow, hash::BuildHasher, sync::Arc};

/// Objects of one kind by namespace and name, in O(1). Costs one pointer per object, because the key is read from the object.
#[derive(Debug)]
pub(super) struct ObjectTable<K> {
    objects: HashTable<Arc<K>>,
    hasher: DefaultHashBuilder,
}

impl<K> Default for ObjectTable<K> {
    fn default() -> Self {
        Self { objects: HashTable::new(), hasher: DefaultHashBuilder::default() }
    }
}

impl<K: Lookup> ObjectTable<K> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { objects: HashTable::with_capacity(capacity), hasher: DefaultHashBuilder::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.objects.iter()
    }

    pub(super) fn get(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<K>> {
        let hash = hash(&self.hasher, namespace, name);
        self.objects.find(hash, |object| has_key(&**object, namespace, name))
    }

    /// The stored object with the key of `object`.
    pub(super) fn get_same_key(&self, object: &K) -> Option<&Arc<K>> {
        self.get(object.namespace().as_deref(), &object.name().unwrap_or_default())
    }

    /// Inserts an object. Returns the object that it replaced.
    pub(super) fn insert(&mut self, object: Arc<K>) -> Option<Arc<K>> {
        let (namespace, name) = (object.namespace(), object.name().unwrap_or_default());
        let hasher = &self.hasher;
        let hash = hash(hasher, namespace.as_deref(), &name);
        let same_key = |other: &Arc<K>| has_key(&**other, namespace.as_deref(), &name);
        if let Some(stored) = self.objects.find_mut(hash, same_key) {
            return Some(std::mem::replace(stored, Arc::clone(&object)));
        }
        self.objects.insert_unique(hash, Arc::clone(&object), |other| hash_of(hasher, &**other));
        None
    }

    /// Removes and returns the object with the key of `object`, in whatever state it is.
    pub(super) fn remove(&mut self, object: &K) -> Option<Arc<K>> {
        let (namespace, name) = (object.namespace(), object.name().unwrap_or_default());
        let hash = hash(&self.hasher, namespace.as_deref(), &name);
        let found = self.objects.find_entry(hash, |other| has_key(&**other, namespace.as_deref(), &name));
        let removed = found.ok().map(|entry| entry.remove().0);
        release(self);
        removed
    }
}

impl<K: Lookup> Shrink for ObjectTable<K> {
    fn shrink(&mut self) {
        if let Some(capacity) = shrunk(self.objects.len(), self.objects.capacity()) {
            let hasher = &self.hasher;
            self.objects.shrink_to(capacity, |object| hash_of(hasher, &**object));
        }
    }
}

fn hash_of<K: Lookup>(hasher: &DefaultHashBuilder, object: &K) -> u64 {
    hash(hasher, object.namespace().as_deref(), &object.name().unwrap_or_default())
}

fn hash(hasher: &DefaultHashBuilder, namespace: Option<&str>, name: &str) -> u64 {
    hasher.hash_one((namespace, name))
}

fn has_key<K: Lookup>(object: &K, namespace: Option<&str>, name: &str) -> bool {
    object.name().unwrap_or(Cow::Borrowed("")) == name && object.namespace().as_deref() == namespace
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn object(namespace: u8, name: u8, version: usize) -> Arc<ConfigMap> {
        let metadata = ObjectMeta {
            name: Some(name.to_string()),
            namespace: (namespace > 0).then(|| namespace.to_string()),
            resource_version: Some(version.to_string()),
            ..Default::default()
        };
        Arc::new(ConfigMap { metadata, ..Default::default() })
    }

    #[test]
    fn an_emptied_table_takes_little_memory() {
        let objects: Vec<_> = (0..=255).flat_map(|name| (0..40).map(move |it| object(it, name, 0))).collect();
        let mut table = ObjectTable::default();
        let memory = allocation_counter::measure(|| {
            objects.iter().for_each(|object| drop(table.insert(Arc::clone(object))));
            objects[1..].iter().for_each(|object| drop(table.remove(object)));
        });
        assert!(memory.bytes_current < 5_000, "{memory:?}");
        assert!(table.get_same_key(&objects[0]).is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn behaves_like_a_map_with_keys(steps in prop::collection::vec((0..3u8, 0..20u8, any::<bool>()), 0..200)) {
            let mut table = ObjectTable::default();
            let mut map = BTreeMap::new();
            for (version, (namespace, name, insert)) in steps.into_iter().enumerate() {
                let object = object(namespace, name, version);
                if insert {
                    table.insert(Arc::clone(&object));
                    map.insert((namespace, name), object);
                } else {
                    table.remove(&object);
                    map.remove(&(namespace, name));
                }
                prop_assert_eq!(table.len(), map.len());
            }
            for (namespace, name) in (0..3).flat_map(|namespace| (0..20).map(move |name| (namespace, name))) {
                let found = table.get_same_key(&object(namespace, name, 0));
                prop_assert_eq!(found, map.get(&(namespace, name)));
            }
        }
    }
}
