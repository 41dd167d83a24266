//! Runs the controller of Jobs.

use std::sync::Arc;

use super::task::Requeue;
use crate::{
    cluster::{ClusterState, owners::ObjectId},
    object::meta,
    route::Propagation,
    storage::{Key, Stored, WriteError},
    workloads::{Pod, TRACKING, is_tracked, plan_job, pod_of_job},
};

impl ClusterState {
    pub(super) fn reconcile_job(&mut self, id: &ObjectId) -> Result<Requeue, WriteError> {
        let Some((resource, job)) = self.storage.read(id.0, &id.1) else { return Ok(Requeue::default()) };
        let manager = job["spec"]["managedBy"].as_str();
        if manager.is_some_and(|manager| manager != "kubernetes.io/job-controller") {
            return Ok(Requeue::default());
        }
        let stored = self.claimed(&job, "", "pods")?;
        let pods = self.work.caches.pods.all(&stored);
        if meta::is_deleting(&job) {
            let all: Vec<usize> = (0..pods.len()).collect();
            self.release_pods(&all, &stored, &pods)?;
            return Ok(Requeue::default());
        }
        let plan = plan_job(&job, &pods, &self.now());
        if plan.expired {
            self.delete(&resource, &id.1, Some(Propagation::Background))?;
            return Ok(Requeue::default());
        }
        self.write_status(&resource, &id.1, &job, plan.status)?;
        self.record(&job, plan.notes)?;
        self.release_pods(&plan.release, &stored, &pods)?;
        self.release_pods(&plan.delete, &stored, &pods)?;
        for at in &plan.delete {
            self.delete_pod_of(&job, &stored[*at].key)?;
        }
        let new = plan.create.iter().map(|new| pod_of_job(&job, new.index, new.failures));
        let refused = self.create_pods(&job, new)?.is_some();
        Ok(Requeue { after: plan.requeue_after, refused })
    }

    /// Removes the finalizers that hold pods until their Job has counted them.
    fn release_pods(
        &mut self,
        which: &[usize],
        stored: &[Arc<Stored>],
        pods: &[Arc<Pod>],
    ) -> Result<(), WriteError> {
        let Some(resource) = self.storage.resource("", "pods") else { return Ok(()) };
        for at in which.iter().filter(|at| is_tracked(&pods[**at].object)) {
            self.drop_finalizer(&resource, &stored[*at].key, &pods[*at].object, TRACKING)?;
        }
        Ok(())
    }

    /// Releases a pod that no Job counts any more.
    pub(super) fn free_job_pod(&mut self, (table, key): &ObjectId) -> Result<(), WriteError> {
        let Some((resource, pod)) = self.storage.read(*table, key) else { return Ok(()) };
        let counted = meta::owners(&pod).iter().any(|owner| {
            let job = self.storage.object("batch", "jobs", &Key::new(key.namespace(), &owner.name));
            owner.controls && job.is_some_and(|job| *job.uid == *owner.uid)
        });
        if counted || !is_tracked(&pod) {
            return Ok(());
        }
        self.drop_finalizer(&resource, key, &pod, TRACKING)
    }
}
