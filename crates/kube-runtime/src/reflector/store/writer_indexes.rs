//! The indexes of a writer. It calls index functions, which are user code, without a lock and before the objects are visible.

use super::shared::Shared;
use crate::reflector::{
    Lookup, ObjectKey,
    index::{AnyIndex, IndexKeys, IndexPanic},
    indexed_table::{DeclaredIndexes, keys_or_none},
};
use parking_lot::Mutex;
use std::sync::Arc;

pub(super) struct WriterIndexes<K> {
    declared: DeclaredIndexes<K>,
    /// The panics since the last [`take_panics`](Self::take_panics).
    panics: Mutex<Vec<IndexPanic>>,
}

impl<K> Default for WriterIndexes<K> {
    fn default() -> Self {
        Self { declared: DeclaredIndexes::default(), panics: Mutex::default() }
    }
}

impl<K: Lookup + 'static> WriterIndexes<K> {
    pub(super) fn declared(&self) -> &DeclaredIndexes<K> {
        &self.declared
    }

    /// The keys of the object's current state and of its new state. `None` if both are the same `Arc`.
    pub(super) fn keys(
        &self,
        current: impl FnOnce() -> Option<Arc<K>>,
        new: &Arc<K>,
    ) -> Option<(Vec<IndexKeys>, Vec<IndexKeys>)> {
        if self.declared.is_empty() {
            return Some((Vec::new(), Vec::new()));
        }
        let old_keys = match current() {
            Some(current) if Arc::ptr_eq(&current, new) => return None,
            Some(current) => self.keys_of_current(&current),
            None => Vec::new(),
        };
        let new_keys = self.declared.keys(new, |message| self.report_panic(ObjectKey::of(&**new), message));
        Some((old_keys, new_keys))
    }

    /// The keys of a state for which the index functions were called before. If a function panics this time, the object is
    /// searched in the whole index.
    pub(super) fn keys_of_current(&self, object: &K) -> Vec<IndexKeys> {
        self.declared.keys(object, |message| {
            let key = ObjectKey::of(object);
            tracing::warn!(
                "object.ref" = %key,
                message,
                "an index function panicked at the state of an object before its last change"
            );
        })
    }

    /// Reports panics of comparisons, which run under a lock. The caller holds none.
    pub(super) fn report_panics(&self, panics: Vec<IndexPanic>) {
        panics.into_iter().for_each(|(key, message)| self.report_panic(key, message));
    }

    fn report_panic(&self, key: ObjectKey, message: String) {
        tracing::error!(
            "object.ref" = %key,
            message,
            "the function or a key of an index panicked: the index does not find this object"
        );
        self.panics.lock().push((key, message));
    }

    /// The panics of indexes since the last call.
    pub(super) fn take_panics(&mut self) -> Vec<IndexPanic> {
        std::mem::take(self.panics.get_mut())
    }

    /// Adds the indexes that readers have declared. Only the writer changes tables, so their code needs no lock. O(n) for each index.
    pub(super) fn add_pending(&mut self, shared: &Shared<K>) {
        let pending: Vec<Arc<dyn AnyIndex<K>>> = std::mem::take(&mut *shared.pending_indexes.lock());
        for index in pending {
            let buckets_of = |objects: Vec<Arc<K>>| {
                let mut buckets = index.empty_buckets();
                for object in objects {
                    let report = |message| self.report_panic(ObjectKey::of(&*object), message);
                    let keys = keys_or_none(&*index, &*object, &mut { report });
                    buckets.insert(&object, keys).unwrap_or_else(report);
                }
                buckets
            };
            let visible = buckets_of(shared.objects.read(|table| table.iter().cloned().collect()));
            shared.objects.change(|table| table.add_index(visible));
            let listed = shared.listed.read().as_ref().map(|table| table.iter().cloned().collect());
            if let Some(listed) = listed.map(buckets_of)
                && let Some(table) = &mut *shared.listed.write()
            {
                table.add_index(listed);
            }
            self.declared.push(index);
        }
    }
}
