//! Counts what objects use of the quotas of their namespace.

use serde_json::Value;

use super::{AdmissionControl, QuotaLedger};
use crate::{
    scheme::Resource,
    storage::{Change, Key, Storage, Stored},
};

impl AdmissionControl {
    /// Counts a change of an object for the quotas of its namespace. Returns the quotas whose status changes.
    pub(super) fn record_usage(
        &mut self,
        storage: &Storage,
        resource: &Resource,
        change: &Change,
    ) -> Vec<Key> {
        let key = &change.object.key;
        let mut changed = Vec::new();
        let Some(namespace) = key.namespace() else { return changed };
        let before = change.previous.as_deref();
        if self.quotas.has(namespace) {
            // Under the stored kind, also when the object was written as its storage equivalent.
            let stored = storage.scheme.by_table(resource.table).map_or(resource, AsRef::as_ref);
            let (before, after) = (before.map(Stored::value), change.after().map(Stored::value));
            for quota in self.quotas.record(namespace, stored, before.as_ref(), after.as_ref()) {
                changed.push(Key::new(Some(namespace), &quota));
            }
        }
        if !resource.is("", "resourcequotas") {
            return changed;
        }
        match change.after() {
            None => self.quotas.forget(namespace, key.name()),
            Some(after) => {
                let spec = after.value()["spec"].take();
                if before.is_none_or(|before| before.value()["spec"] != spec) {
                    self.count_quota(storage, key, &spec);
                }
                changed.push(key.clone());
            }
        }
        changed
    }

    /// Counts for all quotas, after the whole state was replaced. Returns them.
    pub(crate) fn count_quotas(&mut self, storage: &Storage) -> Vec<Key> {
        self.quotas = QuotaLedger::default();
        let mut all = Vec::new();
        let Some(table) = storage.table("", "resourcequotas") else { return all };
        for quota in storage.store.objects(table, None) {
            self.count_quota(storage, &quota.key, &quota.value()["spec"]);
            all.push(quota.key.clone());
        }
        all
    }

    fn count_quota(&mut self, storage: &Storage, key: &Key, spec: &Value) {
        let Some(namespace) = key.namespace() else { return };
        let resources =
            storage.scheme.resources().map(AsRef::as_ref).filter(|resource: &&Resource| resource.namespaced);
        let objects = resources.map(|resource| {
            let all = storage.store.objects(resource.table, Some(namespace)).map(|stored| stored.value());
            (resource, Box::new(all) as Box<dyn Iterator<Item = Value>>)
        });
        self.quotas.count(namespace, key.name(), spec, objects);
    }
}
