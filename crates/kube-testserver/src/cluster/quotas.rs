//! The status of ResourceQuotas.

use serde_json::Value;

use super::{ClusterState, task::Task};
use crate::{
    admission::QuotaLedger,
    journal::WriteError,
    scheme::Resource,
    store::{Key, Stored},
};

impl ClusterState {
    /// Counts a change of an object for the quotas of its namespace.
    pub(super) fn record_usage(
        &mut self,
        resource: &Resource,
        before: Option<&Stored>,
        after: Option<&Stored>,
    ) {
        let Some(changed) = after.or(before) else { return };
        let Some(namespace) = changed.key.namespace() else { return };
        if self.quotas.has(namespace) {
            // Under the stored kind, also when the object was written as its storage equivalent.
            let stored = self.scheme.by_table(resource.table).cloned();
            let resource = stored.as_deref().unwrap_or(resource);
            let (before, after) = (before.map(Stored::value), after.map(Stored::value));
            for quota in self.quotas.record(namespace, resource, before.as_ref(), after.as_ref()) {
                self.enqueue(Task::QuotaStatus(Key::new(Some(namespace), &quota)));
            }
        }
        if !resource.is("", "resourcequotas") {
            return;
        }
        let key = changed.key.clone();
        match after {
            None => self.quotas.forget(namespace, key.name()),
            Some(after) => {
                let spec = after.value()["spec"].take();
                if before.is_none_or(|before| before.value()["spec"] != spec) {
                    self.count_quota(&key, &spec);
                }
                self.enqueue(Task::QuotaStatus(key));
            }
        }
    }

    /// Counts for all quotas, after the whole state was replaced.
    pub(super) fn count_quotas(&mut self) {
        self.quotas = QuotaLedger::default();
        let Some(table) = self.scheme.by_plural("", "resourcequotas").map(|endpoint| endpoint.resource.table)
        else {
            return;
        };
        let all: Vec<_> = self.store.objects(table, None).cloned().collect();
        for quota in all {
            self.count_quota(&quota.key, &quota.value()["spec"]);
            self.enqueue(Task::QuotaStatus(quota.key.clone()));
        }
    }

    fn count_quota(&mut self, key: &Key, spec: &Value) {
        let Some(namespace) = key.namespace() else { return };
        let store = &self.store;
        let resources =
            self.scheme.resources().map(AsRef::as_ref).filter(|resource: &&Resource| resource.namespaced);
        let objects = resources.map(|resource| {
            let all = store.objects(resource.table, Some(namespace)).map(|stored| stored.value());
            (resource, Box::new(all) as Box<dyn Iterator<Item = Value>>)
        });
        self.quotas.count(namespace, key.name(), spec, objects);
    }

    /// Writes the status of a quota, if it changed.
    pub(super) fn write_quota_status(&mut self, key: &Key) -> Result<(), WriteError> {
        let namespace = key.namespace().unwrap_or_default();
        let Some(status) = self.quotas.status(namespace, key.name()) else { return Ok(()) };
        let Some(resource) = self.scheme.by_plural("", "resourcequotas").map(|e| e.resource.clone()) else {
            return Ok(());
        };
        let Some(quota) = self.store.get(resource.table, key).map(|stored| stored.value()) else {
            return Ok(());
        };
        self.write_status(&resource, key, &quota, status)
    }
}
