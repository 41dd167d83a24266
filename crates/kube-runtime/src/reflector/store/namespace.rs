//! Filling a cache by several collections, one for each namespace.

use super::{ListVersion, Writer, writer::same_state};
use crate::{
    reflector::{Lookup, index::IndexKeys, store::reader::keyed},
    watcher::Event,
};
use ahash::AHashSet;
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::Hash,
    sync::Arc,
};

/// An object, the index keys of the state that is there, and those of the object unless it is to go.
type TableChange<K> = (Arc<K>, Vec<IndexKeys>, Option<Vec<IndexKeys>>);

/// What a list of one namespace has brought.
#[derive(Debug)]
pub(in crate::reflector) struct NamespaceList<K> {
    /// By name: what a list changes is told in an order that can be repeated.
    pub(in crate::reflector) objects: BTreeMap<Box<str>, K>,
    /// The objects that exist and cannot be decoded, with their uids: their last readable states stay.
    pub(in crate::reflector) undecodable: BTreeMap<Box<str>, Option<String>>,
}

impl<K> Default for NamespaceList<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), undecodable: BTreeMap::new() }
    }
}

impl<K: Lookup> NamespaceList<K> {
    /// Whether the last readable state of an object stays.
    pub(in crate::reflector) fn keeps(&self, name: &str, last: &K) -> bool {
        let uid = self.undecodable.get(name);
        uid.is_some_and(|uid| uid.is_none() || uid.as_deref() == last.uid().as_deref())
    }
}

impl<K: 'static + Lookup + Clone> Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// From now on each namespace is a collection of its own.
    pub(in crate::reflector) fn split_by_namespace(&mut self) {
        self.watermarks().change(|watermarks| watermarks.split_by_namespace());
    }

    pub(in crate::reflector) fn join(&mut self, namespace: &str) {
        self.watermarks().change(|watermarks| watermarks.join(namespace));
    }

    /// All namespaces there are have joined.
    pub(in crate::reflector) fn settle(&mut self) {
        self.watermarks().change(|watermarks| watermarks.settle());
    }

    pub(in crate::reflector) fn leave(&mut self, namespace: &str) {
        self.watermarks().change(|watermarks| watermarks.leave(namespace));
    }

    pub(in crate::reflector) fn start_list_in(&mut self, namespace: &str) {
        self.watermarks().change(|watermarks| watermarks.start_list(namespace));
    }

    /// The list of the namespace has arrived. It is not visible yet.
    pub(in crate::reflector) fn list_arrived_in(&mut self, namespace: &str) {
        self.watermarks().change(|watermarks| watermarks.list_arrived(namespace));
    }

    /// The list of the namespace that arrived last is visible.
    pub(in crate::reflector) fn finish_list_in(&mut self, namespace: &str, version: ListVersion) {
        let shared = self.shared();
        let is_met = |key: &_, awaited: &_| shared.is_met(key, awaited);
        shared.watermarks.change(|watermarks| watermarks.finish_list(namespace, version, is_met));
    }

    /// Everything in the namespace up to this version is known; empty where versions cannot be compared.
    pub(in crate::reflector) fn progress_in(&mut self, namespace: &str, version: &str) {
        self.watermarks().change(|watermarks| watermarks.progress(namespace, version));
    }

    /// Puts the objects of a list in the place of those of these names, all at once, and returns the events that tell
    /// the difference, by name.
    pub(in crate::reflector) fn replace_in(
        &mut self,
        namespace: &str,
        before: &AHashSet<Box<str>>,
        list: NamespaceList<K>,
    ) -> Vec<Event<Arc<K>>> {
        let gone = self.gone_from(namespace, before, &list);
        let changed = self.changed_by(list);
        let changes: Vec<TableChange<K>> = gone
            .iter()
            .map(|last| (Arc::clone(last), self.keys_before(last), None))
            .chain(changed.iter().filter_map(|object| {
                let present = || self.shared().objects.read(|table| table.get_same_key(object).cloned());
                let (before, after) = self.index_keys(present, object)?;
                Some((Arc::clone(object), before, Some(after)))
            }))
            .collect();
        let replaced: Vec<Option<Arc<K>>> = self.shared().objects.change(|table| {
            let change = |(object, before, after): TableChange<K>| match after {
                Some(after) => table.insert(object, before, after),
                None => table.remove(&object, before),
            };
            changes.into_iter().map(change).collect()
        });
        drop(replaced); // without the lock
        self.shared().objects.publish(gone.iter().chain(&changed).cloned().map(keyed));
        gone.into_iter().map(Event::Delete).chain(changed.into_iter().map(Event::Apply)).collect()
    }

    /// The last states of the objects that the list lacks.
    fn gone_from(
        &self,
        namespace: &str,
        before: &AHashSet<Box<str>>,
        list: &NamespaceList<K>,
    ) -> Vec<Arc<K>> {
        let names: BTreeSet<&str> =
            before.iter().map(|name| &**name).filter(|name| !list.objects.contains_key(*name)).collect();
        self.shared().objects.read(|table| {
            let last = |name| table.get(Some(namespace), name).filter(|last| !list.keeps(name, last));
            names.into_iter().filter_map(last).cloned().collect()
        })
    }

    /// The objects of a list that are new or in another state than before.
    fn changed_by(&self, list: NamespaceList<K>) -> Vec<Arc<K>> {
        let objects: Vec<K> = list.objects.into_values().collect();
        let changed: Vec<bool> = self.shared().objects.read(|table| {
            let is_new =
                |object: &K| table.get_same_key(object).is_none_or(|present| !same_state(&**present, object));
            objects.iter().map(is_new).collect()
        });
        let changed = objects.into_iter().zip(changed).filter(|(_, changed)| *changed);
        changed.map(|(object, _)| Arc::new(object)).collect()
    }
}
