//! Which workload controllers have to run after a change.

use super::WorkloadTask;
use crate::{
    cluster::{owners::ObjectId, work::Work},
    object::meta,
    scheme::Resource,
    storage::{EventType, Key, Storage, Stored},
};

impl Work {
    /// Enqueues the workload controllers that depend on a written object.
    pub(in crate::cluster) fn enqueue_workload(
        &mut self,
        storage: &Storage,
        resource: &Resource,
        stored: &Stored,
    ) {
        let id = (resource.table, stored.key.clone());
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "pods") => {
                self.enqueue_budgets(storage, &stored.key);
                if stored.event == EventType::Added && stored.owners.is_empty() {
                    self.enqueue_adoption(storage, &stored.key);
                }
            }
            ("policy", "poddisruptionbudgets") => {
                self.enqueue(WorkloadTask::Budgets(stored.key.namespace().unwrap_or_default().into()).into());
            }
            ("batch", "jobs") => self.enqueue(WorkloadTask::Job(id).into()),
            ("apps", "replicasets") => {
                if stored.event == EventType::Added {
                    self.enqueue(
                        WorkloadTask::Adopt(stored.key.namespace().unwrap_or_default().into(), None).into(),
                    );
                }
                self.enqueue(WorkloadTask::ReplicaSet(id).into());
            }
            ("apps", "deployments") => self.enqueue(WorkloadTask::Deployment(id).into()),
            _ => return,
        }
        self.enqueue_controller(storage, stored);
    }

    /// Enqueues the workload controllers that depended on a removed object.
    pub(in crate::cluster) fn enqueue_removed_workload(
        &mut self,
        storage: &Storage,
        resource: &Resource,
        last: &Stored,
    ) {
        self.enqueue_controller(storage, last);
        if resource.is("", "pods") {
            self.enqueue_budgets(storage, &last.key);
        }
    }

    /// Enqueues the controller that owns an object.
    fn enqueue_controller(&mut self, storage: &Storage, stored: &Stored) {
        for owner in &stored.owners {
            let (group, _) = meta::split_api_version(&owner.api_version);
            let (plural, task): (_, fn(ObjectId) -> WorkloadTask) = match (group, owner.kind.as_str()) {
                ("batch", "Job") => ("jobs", WorkloadTask::Job),
                ("apps", "ReplicaSet") => ("replicasets", WorkloadTask::ReplicaSet),
                ("apps", "Deployment") => ("deployments", WorkloadTask::Deployment),
                _ => continue,
            };
            let table = storage.table(group, plural);
            let key = Key::new(stored.key.namespace(), &owner.name);
            if let Some(table) = table {
                self.enqueue(task((table, key)).into());
            }
        }
    }

    /// Enqueues the budgets of the pod's namespace, if there are any.
    fn enqueue_budgets(&mut self, storage: &Storage, pod: &Key) {
        let Some(budgets) = storage.resource("policy", "poddisruptionbudgets") else { return };
        if storage.store.objects(budgets.table, pod.namespace()).next().is_some() {
            self.enqueue(WorkloadTask::Budgets(pod.namespace().unwrap_or_default().into()).into());
        }
    }

    /// Enqueues adoption of an unowned pod if its namespace has ReplicaSets.
    fn enqueue_adoption(&mut self, storage: &Storage, pod: &Key) {
        let Some(sets) = storage.resource("apps", "replicasets") else { return };
        if storage.store.objects(sets.table, pod.namespace()).next().is_some() {
            self.enqueue(
                WorkloadTask::Adopt(pod.namespace().unwrap_or_default().into(), Some(pod.clone())).into(),
            );
        }
    }
}
