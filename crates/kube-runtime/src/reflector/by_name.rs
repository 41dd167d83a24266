//! A set of objects, found by name, without a second copy of their names.

use super::Lookup;
use ahash::RandomState;
use hashbrown::HashTable;
use std::{borrow::Cow, sync::Arc};

/// A set of objects of one kind, found by namespace and name in O(1). One pointer per object.
#[derive(Debug)]
pub(super) struct ByName<K> {
    objects: HashTable<Arc<K>>,
    hasher: RandomState,
}

impl<K> Default for ByName<K> {
    fn default() -> Self {
        Self { objects: HashTable::new(), hasher: RandomState::new() }
    }
}

impl<K: Lookup> ByName<K> {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { objects: HashTable::with_capacity(capacity), hasher: RandomState::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.objects.iter()
    }

    pub(super) fn get(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<K>> {
        let hash = hash(&self.hasher, namespace, name);
        self.objects.find(hash, |object| is(&**object, namespace, name))
    }

    /// The present state of the object that `object` is a state of.
    pub(super) fn get_same_key(&self, object: &K) -> Option<&Arc<K>> {
        self.get(object.namespace().as_deref(), &object.name().unwrap_or_default())
    }

    /// Puts an object in its place, and returns the state that was there.
    pub(super) fn insert(&mut self, object: Arc<K>) -> Option<Arc<K>> {
        let (namespace, name) = (object.namespace(), object.name().unwrap_or_default());
        let hasher = &self.hasher;
        let hash = hash(hasher, namespace.as_deref(), &name);
        let same = |other: &Arc<K>| is(&**other, namespace.as_deref(), &name);
        if let Some(present) = self.objects.find_mut(hash, same) {
            return Some(std::mem::replace(present, Arc::clone(&object)));
        }
        self.objects.insert_unique(hash, Arc::clone(&object), |other| {
            let (namespace, name) = (other.namespace(), other.name().unwrap_or_default());
            self::hash(hasher, namespace.as_deref(), &name)
        });
        None
    }

    /// Takes the object of this name out, in whatever state it is, and returns it.
    pub(super) fn remove(&mut self, object: &K) -> Option<Arc<K>> {
        let (namespace, name) = (object.namespace(), object.name().unwrap_or_default());
        let hash = hash(&self.hasher, namespace.as_deref(), &name);
        let found = self.objects.find_entry(hash, |other| is(&**other, namespace.as_deref(), &name));
        found.ok().map(|entry| entry.remove().0)
    }
}

fn hash(hasher: &RandomState, namespace: Option<&str>, name: &str) -> u64 {
    hasher.hash_one((namespace, name))
}

fn is<K: Lookup>(object: &K, namespace: Option<&str>, name: &str) -> bool {
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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_a_map(steps in prop::collection::vec((0..3u8, 0..20u8, any::<bool>()), 0..200)) {
            let mut table = ByName::default();
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
