//! Applies the events of several watches, one for each namespace, to one store.

use super::{shared::keyed, watermarks::ListVersion, writer::Writer};
use crate::{
    reflector::{Lookup, ObjectKey, index::IndexKeys},
    watcher::Event,
};
use hashbrown::HashSet;
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::Hash,
    sync::Arc,
};

/// An object, the index keys of its current state, and the keys of its new state; `None` if the object is removed.
type TableChange<K> = (Arc<K>, Vec<IndexKeys>, Option<Vec<IndexKeys>>);

/// A list of one namespace.
#[derive(Debug)]
pub(in crate::reflector) struct NamespaceList<K> {
    /// Sorted by name, so that the order of events is reproducible.
    pub(in crate::reflector) objects: BTreeMap<Box<str>, Arc<K>>,
    /// The undecodable objects by name, with their uids. Their last readable states are retained.
    pub(in crate::reflector) undecodable: BTreeMap<Box<str>, Option<String>>,
}

impl<K> Default for NamespaceList<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), undecodable: BTreeMap::new() }
    }
}

impl<K: Lookup> NamespaceList<K> {
    /// Whether the last readable state of an object is retained.
    pub(in crate::reflector) fn retains(&self, name: &str, last: &K) -> bool {
        let uid = self.undecodable.get(name);
        uid.is_some_and(|uid| uid.is_none() || uid.as_deref() == last.uid().as_deref())
    }
}

impl<K: 'static + Lookup + Clone> Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// From now on each namespace is a collection.
    pub(in crate::reflector) fn split_by_namespace(&mut self) {
        self.watermarks().change(|watermarks| watermarks.split_by_namespace());
    }

    pub(in crate::reflector) fn add_namespace(&mut self, namespace: &str) {
        self.watermarks().change(|watermarks| watermarks.add_namespace(namespace));
    }

    /// All namespaces have been added.
    pub(in crate::reflector) fn set_namespaces_known(&mut self) {
        self.watermarks().change(|watermarks| watermarks.set_namespaces_known());
    }

    pub(in crate::reflector) fn remove_namespace(&mut self, namespace: &str) {
        self.watermarks().change(|watermarks| watermarks.remove_namespace(namespace));
    }

    pub(in crate::reflector) fn start_list_in(&mut self, namespace: &str) {
        self.watermarks().change(|watermarks| watermarks.start_list(namespace));
    }

    /// The list of the namespace was received completely, and is not visible yet.
    pub(in crate::reflector) fn complete_list_in(&mut self, namespace: &str) {
        self.watermarks().change(|watermarks| watermarks.complete_list(namespace));
    }

    /// The last completed list of the namespace is visible.
    pub(in crate::reflector) fn show_list_in(&mut self, namespace: &str, version: ListVersion) {
        let shared = self.shared();
        let is_met = |key: &_, awaited: &_| shared.is_met(key, awaited);
        shared.watermarks.change(|watermarks| watermarks.show_list(namespace, version, is_met));
    }

    /// Everything in the namespace up to this version is known; empty if versions are opaque.
    pub(in crate::reflector) fn progress_in(&mut self, namespace: &str, version: &str) {
        self.shared().deleted.forget_old();
        self.watermarks().change(|watermarks| watermarks.progress(namespace, version));
    }

    /// Replaces the objects with the names `old` by those of a list, atomically. Returns the difference as events, sorted by
    /// name.
    pub(in crate::reflector) fn replace_in(
        &mut self,
        namespace: &str,
        old: &HashSet<Box<str>>,
        list: NamespaceList<K>,
    ) -> Vec<Event<Arc<K>>> {
        let removed = self.missing_from(&list, namespace, old);
        let undecodable: Vec<Box<str>> = list.undecodable.keys().cloned().collect();
        let changed = self.changed_by(list);
        for object in &changed {
            self.no_longer_outdated(object);
        }
        removed.iter().for_each(|last| self.shared().deleted.add(last));
        for name in undecodable {
            self.retained(ObjectKey { namespace: Some(namespace.into()), name });
        }
        let changes: Vec<TableChange<K>> = removed
            .iter()
            .map(|last| (Arc::clone(last), self.indexes.keys_of_current(last), None))
            .chain(changed.iter().filter_map(|object| {
                let current = || self.shared().objects.read(|table| table.get_same_key(object).cloned());
                let (old_keys, new_keys) = self.indexes.keys(current, object)?;
                Some((Arc::clone(object), old_keys, Some(new_keys)))
            }))
            .collect();
        let mut panics = Vec::new();
        let replaced: Vec<Option<Arc<K>>> = self.shared().objects.change(|table| {
            let change = |(object, old_keys, new_keys): TableChange<K>| match new_keys {
                Some(new_keys) => table.insert(object, old_keys, new_keys, &mut panics),
                None => table.remove(&object, old_keys),
            };
            changes.into_iter().map(change).collect()
        });
        drop(replaced); // without the lock: `K::drop` is user code
        self.indexes.report_panics(panics);
        self.shared().objects.publish(removed.iter().chain(&changed).cloned().map(keyed));
        self.shared().forget_outdated();
        removed.into_iter().map(Event::Delete).chain(changed.into_iter().map(Event::Apply)).collect()
    }

    /// The last states of the objects with the names `old` that the list does not contain.
    fn missing_from(&self, list: &NamespaceList<K>, namespace: &str, old: &HashSet<Box<str>>) -> Vec<Arc<K>> {
        let names: BTreeSet<&str> =
            old.iter().map(|name| &**name).filter(|name| !list.objects.contains_key(*name)).collect();
        self.shared().objects.read(|table| {
            let last = |name| table.get(Some(namespace), name).filter(|last| !list.retains(name, last));
            names.into_iter().filter_map(last).cloned().collect()
        })
    }

    /// The objects of a list that are new or changed: all but those that readers see already.
    fn changed_by(&self, list: NamespaceList<K>) -> Vec<Arc<K>> {
        list.objects.into_values().filter(|object| !self.shared().contains(object)).collect()
    }
}
