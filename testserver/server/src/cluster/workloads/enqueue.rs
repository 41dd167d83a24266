//! Which workload controllers have to run after a change.

use super::{WorkloadTask, task::Adoptable};
use crate::{
    cluster::{BuiltInController, owners::ObjectId, work::Work},
    object::meta,
    scheme::Resource,
    storage::{Key, Storage, Stored},
};

impl Work {
    /// Enqueues the workload controllers that depend on an object that was written or, without `after`, removed.
    pub(in crate::cluster) fn observe_workload(
        &mut self,
        storage: &Storage,
        resource: &Resource,
        before: Option<&Stored>,
        after: Option<&Stored>,
    ) {
        if let (Some(last), None) = (before, after) {
            self.caches.forget(last);
            if let Some(task) = WorkloadTask::of(resource, &last.key) {
                // A later object of the name begins anew.
                self.caches.backoff.forget(&task);
            }
        }
        self.observe_endpoints(storage, resource, before, after);
        if !self.is_enabled(BuiltInController::Workloads) {
            return;
        }
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "pods") => self.enqueue_budgets(before, after),
            ("", "nodes") => self.enqueue_daemon_sets(storage, before, after),
            ("policy", "poddisruptionbudgets") => self.observe_budget(storage, before, after),
            _ => {}
        }
        if after.is_none_or(|after| self.enqueue_written(storage, resource, before, after)) {
            let former = before.filter(|before| after.is_none_or(|after| after.owners != before.owners));
            for stored in former.into_iter().chain(after) {
                self.enqueue_controller(storage, stored);
            }
        }
    }

    /// Enqueues what a written object of the workload controllers is followed by. Whether it is one that they own.
    fn enqueue_written(
        &mut self,
        storage: &Storage,
        resource: &Resource,
        before: Option<&Stored>,
        stored: &Stored,
    ) -> bool {
        let id = (resource.table, stored.key.clone());
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "pods") => {
                self.enqueue_adoption(storage, Adoptable::Pods, before, stored);
                let of_job = |stored: &Stored| stored.owners.iter().any(|owner| owner.kind == "Job");
                let changed = before.is_none_or(|before| before.owners != stored.owners);
                if (stored.deleting || changed) && (of_job(stored) || before.is_some_and(of_job)) {
                    self.enqueue(WorkloadTask::FreeJobPod(id).into());
                }
            }
            ("batch", "jobs") => self.enqueue(WorkloadTask::Job(id).into()),
            ("batch", "cronjobs") => self.enqueue(WorkloadTask::CronJob(id).into()),
            ("apps", "replicasets") | ("", "replicationcontrollers") => {
                if resource.plural == "replicasets" {
                    self.enqueue_adoption(storage, Adoptable::ReplicaSets, before, stored);
                }
                self.enqueue_adoptions_by(resource, Adoptable::Pods, before, stored);
                self.enqueue(WorkloadTask::ReplicaSet(id).into());
            }
            ("apps", "controllerrevisions") => {
                self.enqueue_adoption(storage, Adoptable::ControllerRevisions, before, stored);
            }
            ("apps", "statefulsets" | "daemonsets") => {
                self.enqueue_adoptions_by(resource, Adoptable::ControllerRevisions, before, stored);
                self.enqueue_adoptions_by(resource, Adoptable::Pods, before, stored);
                let stateful = resource.plural == "statefulsets";
                let task = if stateful { WorkloadTask::StatefulSet } else { WorkloadTask::DaemonSet };
                self.enqueue(task(id).into());
            }
            ("apps", "deployments") => {
                self.enqueue_adoptions_by(resource, Adoptable::ReplicaSets, before, stored);
                self.enqueue(WorkloadTask::Deployment(id).into());
            }
            _ => return false,
        }
        true
    }

    /// Enqueues the controller that owns an object.
    fn enqueue_controller(&mut self, storage: &Storage, stored: &Stored) {
        for owner in &stored.owners {
            let (group, _) = meta::split_api_version(&owner.api_version);
            let (plural, task): (_, fn(ObjectId) -> WorkloadTask) = match (group, owner.kind.as_str()) {
                ("batch", "Job") => ("jobs", WorkloadTask::Job),
                ("batch", "CronJob") => ("cronjobs", WorkloadTask::CronJob),
                ("apps", "ReplicaSet") => ("replicasets", WorkloadTask::ReplicaSet),
                ("", "ReplicationController") => ("replicationcontrollers", WorkloadTask::ReplicaSet),
                ("apps", "StatefulSet") => ("statefulsets", WorkloadTask::StatefulSet),
                ("apps", "DaemonSet") => ("daemonsets", WorkloadTask::DaemonSet),
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
}
