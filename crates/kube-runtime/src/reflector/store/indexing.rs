//! Calling index functions: without a lock, before what they are called for becomes visible.

use super::Writer;
use crate::reflector::{Lookup, ObjectKey, index::IndexKeys, table::keys_or_none};
use std::{hash::Hash, sync::Arc};

/// An object that an index does not find, because its function panicked, and what the panic said.
pub(crate) type IndexPanic = (ObjectKey, String);

impl<K: 'static + Lookup + Clone> Writer<K>
where
    K::DynamicType: Eq + Hash + Clone,
{
    /// The keys of the state that is there and of `object`, where there are indexes. `None` if they are one and the same.
    pub(super) fn index_keys(
        &self,
        present: impl FnOnce() -> Option<Arc<K>>,
        object: &Arc<K>,
    ) -> Option<(Vec<IndexKeys>, Vec<IndexKeys>)> {
        if self.indexes.is_empty() {
            return Some((Vec::new(), Vec::new()));
        }
        let before = match present() {
            Some(present) if Arc::ptr_eq(&present, object) => return None,
            Some(present) => self.keys_before(&present),
            None => Vec::new(),
        };
        let keys = self.indexes.keys(object, |message| self.index_panicked(object, message));
        Some((before, keys))
    }

    /// The keys of a state that is there: the index functions have been called with it before. Where one panics now, the object
    /// is looked for in its whole index.
    pub(super) fn keys_before(&self, object: &K) -> Vec<IndexKeys> {
        self.indexes.keys(object, |message| {
            let key = ObjectKey::of(object);
            let (namespace, name) = (key.namespace.as_deref(), &*key.name);
            tracing::warn!(
                namespace,
                name,
                message,
                "an index function panicked at the state of an object before its last change"
            );
        })
    }

    fn index_panicked(&self, object: &K, message: String) {
        let key = ObjectKey::of(object);
        let (namespace, name) = (key.namespace.as_deref(), &*key.name);
        tracing::error!(
            namespace,
            name,
            message,
            "an index function panicked: the index does not find this object"
        );
        self.index_panics.lock().push((key, message));
    }

    /// The objects that index functions have panicked at since this was last asked.
    pub(crate) fn take_index_panics(&mut self) -> Vec<IndexPanic> {
        std::mem::take(self.index_panics.get_mut())
    }

    /// Adds the indexes that were declared since the last change. Only the writer changes tables, so that index functions can run
    /// without a lock. O(n) for each.
    pub(super) fn add_wanted_indexes(&mut self) {
        let wanted = std::mem::take(&mut *self.reader.shared.wanted_indexes.lock());
        for index in wanted {
            let keyed = |objects: Vec<Arc<K>>| -> Vec<_> {
                let keys = |object: &Arc<K>| {
                    keys_or_none(&*index, object, &mut |message| self.index_panicked(object, message))
                };
                objects.into_iter().map(|object| (Arc::clone(&object), keys(&object))).collect()
            };
            let shared = &self.reader.shared;
            let shown = keyed(shared.objects.read(|table| table.iter().cloned().collect()));
            shared.objects.change(|table| table.add_index(&*index, shown));
            let listed = shared.listed.read().as_ref().map(|table| table.iter().cloned().collect());
            if let Some(listed) = listed.map(keyed)
                && let Some(table) = &mut *shared.listed.write()
            {
                table.add_index(&*index, listed);
            }
            self.indexes.push(index);
        }
    }
}
