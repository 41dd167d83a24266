//! What ResourceQuotas count, and their status.

use serde_json::Value;

use super::{AdmissionControl, ClusterState, storage::Storage, task::Task, work::Work};
use crate::{
    admission::QuotaLedger,
    journal::WriteError,
    scheme::Resource,
    store::{Change, Key, Stored},
};

impl AdmissionControl {
    /// Counts a change of an object for the quotas of its namespace.
    pub(super) fn record_usage(
        &mut self,
        storage: &Storage,
        work: &mut Work,
        resource: &Resource,
        change: &Change,
    ) {
        let key = &change.object.key;
        let Some(namespace) = key.namespace() else { return };
        let before = change.previous.as_deref();
        if self.quotas.has(namespace) {
            // Under the stored kind, also when the object was written as its storage equivalent.
            let stored = storage.scheme.by_table(resource.table).map_or(resource, AsRef::as_ref);
            let (before, after) = (before.map(Stored::value), change.after().map(Stored::value));
            for quota in self.quotas.record(namespace, stored, before.as_ref(), after.as_ref()) {
                work.enqueue(Task::QuotaStatus(Key::new(Some(namespace), &quota)));
            }
        }
        if !resource.is("", "resourcequotas") {
            return;
        }
        match change.after() {
            None => self.quotas.forget(namespace, key.name()),
            Some(after) => {
                let spec = after.value()["spec"].take();
                if before.is_none_or(|before| before.value()["spec"] != spec) {
                    self.count_quota(storage, key, &spec);
                }
                work.enqueue(Task::QuotaStatus(key.clone()));
            }
        }
    }

    /// Counts for all quotas, after the whole state was replaced.
    pub(super) fn count_quotas(&mut self, storage: &Storage, work: &mut Work) {
        self.quotas = QuotaLedger::default();
        let Some(table) = storage.table("", "resourcequotas") else { return };
        for quota in storage.store.objects(table, None) {
            self.count_quota(storage, &quota.key, &quota.value()["spec"]);
            work.enqueue(Task::QuotaStatus(quota.key.clone()));
        }
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

impl ClusterState {
    /// Writes the status of a quota, if it changed.
    pub(super) fn write_quota_status(&mut self, key: &Key) -> Result<(), WriteError> {
        let namespace = key.namespace().unwrap_or_default();
        let Some(status) = self.admission.quotas.status(namespace, key.name()) else { return Ok(()) };
        let Some(resource) = self.storage.resource("", "resourcequotas") else { return Ok(()) };
        let Some(quota) = self.storage.store.get(resource.table, key).map(|stored| stored.value()) else {
            return Ok(());
        };
        self.write_status(&resource, key, &quota, status)
    }
}
