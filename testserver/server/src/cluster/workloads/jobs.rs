//! Runs the controller of Jobs.

use serde_json::Value;

use super::WorkloadTask;
use crate::{
    cluster::{ClusterState, owners::ObjectId},
    object::meta,
    route::Propagation,
    storage::{Key, WriteError},
    workloads::{JobPlan, TRACKING, controls, is_tracked, plan_job, pod_of_job},
};

impl ClusterState {
    pub(super) fn reconcile_job(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let Some((resource, job)) = self.reconciled(id) else { return Ok(()) };
        let manager = job["spec"]["managedBy"].as_str();
        if manager.is_some_and(|manager| manager != "kubernetes.io/job-controller") {
            return Ok(());
        }
        let (keys, pods) = self.claimed(&job, "", "pods")?;
        if meta::is_deleting(&job) {
            let all: Vec<usize> = (0..pods.len()).collect();
            return self.release_pods(&all, &keys, &pods);
        }
        let plan = plan_job(&job, &pods, &self.now());
        if plan.expired {
            return self.delete(&resource, &id.1, Some(Propagation::Background)).map(drop);
        }
        if let Some(seconds) = plan.requeue_after {
            self.work.enqueue_after(WorkloadTask::Job(id.clone()).into(), seconds);
        }
        self.write_status(&resource, &id.1, &job, plan.status.clone())?;
        self.record(&job, plan.notes.iter().cloned())?;
        self.change_pods(id, &job, &plan, (&keys, &pods))
    }

    fn change_pods(
        &mut self,
        id: &ObjectId,
        job: &Value,
        plan: &JobPlan,
        (keys, pods): (&[Key], &[Value]),
    ) -> Result<(), WriteError> {
        self.release_pods(&plan.release, keys, pods)?;
        self.release_pods(&plan.delete, keys, pods)?;
        for at in &plan.delete {
            self.delete_pod_of(job, &keys[*at])?;
        }
        let mut new = plan.create.iter();
        let make = || new.next().map(|new| pod_of_job(job, new.index, new.failures));
        if self.create_pods(job, std::iter::from_fn(make))?.is_some() {
            self.retry(WorkloadTask::Job(id.clone()));
        }
        Ok(())
    }

    /// Removes the finalizers that hold pods until their Job has counted them.
    fn release_pods(&mut self, which: &[usize], keys: &[Key], pods: &[Value]) -> Result<(), WriteError> {
        let Some(resource) = self.storage.resource("", "pods") else { return Ok(()) };
        for at in which.iter().filter(|at| is_tracked(&pods[**at])) {
            self.drop_finalizer(&resource, &keys[*at], &pods[*at], TRACKING)?;
        }
        Ok(())
    }

    /// Releases a pod that no Job counts any more.
    pub(super) fn free_job_pod(&mut self, (table, key): &ObjectId) -> Result<(), WriteError> {
        let Some((resource, pod)) = self.reconciled(&(*table, key.clone())) else { return Ok(()) };
        let jobs = self.storage.table("batch", "jobs");
        let counted = meta::owners(&pod).iter().any(|owner| {
            let key = Key::new(key.namespace(), &owner.name);
            let job = jobs.and_then(|jobs| self.storage.store.get(jobs, &key));
            job.is_some_and(|job| controls(&job.value(), &pod))
        });
        if counted || !is_tracked(&pod) {
            return Ok(());
        }
        self.drop_finalizer(&resource, key, &pod, TRACKING)
    }
}
