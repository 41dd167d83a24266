//! Runs the task of a workload controller, and does what several of them do.

use std::time::Duration;

use serde_json::Value;

use super::{WorkloadTask, task::Requeue};
use crate::{
    cluster::{ClusterState, create::Created},
    object::event::Note,
    storage::{Key, WriteError},
};

impl ClusterState {
    /// Runs a task, and enqueues it again for when its plan changes by time, or for when a refused write is tried again.
    pub(in crate::cluster) fn run_workload(&mut self, task: &WorkloadTask) -> Result<(), WriteError> {
        let Requeue { after, refused } = match task {
            WorkloadTask::Adopt(namespace, kind, only) => {
                return self.adopt_objects(namespace, *kind, only.as_ref());
            }
            WorkloadTask::FreeJobPod(id) => return self.free_job_pod(id),
            WorkloadTask::RemoveEndpoints(service) => return self.remove_endpoints(service),
            WorkloadTask::Endpoints(service) => self.reconcile_endpoints(service)?,
            WorkloadTask::CronJob(id) => self.reconcile_cron_job(id)?,
            WorkloadTask::Job(id) => self.reconcile_job(id)?,
            WorkloadTask::ReplicaSet(id) => self.reconcile_replica_set(id)?,
            WorkloadTask::StatefulSet(id) => self.reconcile_stateful_set(id)?,
            WorkloadTask::DaemonSet(id) => self.reconcile_daemon_set(id)?,
            WorkloadTask::Deployment(id) => self.reconcile_deployment(id)?,
            WorkloadTask::Budget(budget) => self.reconcile_budget(budget)?,
        };
        let now = self.clock.elapsed();
        let backoff = &mut self.work.caches.backoff;
        let retry = refused.then(|| backoff.refused(task, now));
        if !refused {
            backoff.forget(task);
        }
        let planned = after.map(|seconds| now.saturating_add(Duration::from_secs(seconds)));
        if let Some(at) = retry.into_iter().chain(planned).min() {
            self.work.enqueue_at(task.clone().into(), at);
        }
        Ok(())
    }

    pub(super) fn delete_owned(&mut self, group: &str, plural: &str, key: &Key) -> Result<(), WriteError> {
        if let Some(resource) = self.storage.resource(group, plural) {
            self.delete(&resource, key, None)?;
        }
        Ok(())
    }

    /// Deletes a pod of an owner.
    pub(super) fn delete_pod_of(&mut self, owner: &Value, key: &Key) -> Result<(), WriteError> {
        self.delete_owned("", "pods", key)?;
        self.record(owner, [Note::normal("SuccessfulDelete", format!("Deleted pod: {}", key.name()))])
    }

    /// Creates pods of an owner until admission refuses one. Returns the message of the refusal.
    pub(super) fn create_pods(
        &mut self,
        owner: &Value,
        pods: impl Iterator<Item = Value>,
    ) -> Result<Option<String>, WriteError> {
        for pod in pods {
            match self.create("", "pods", pod)? {
                Created::Stored(pod) => {
                    let message = format!("Created pod: {}", pod.key.name());
                    self.record(owner, [Note::normal("SuccessfulCreate", message)])?;
                }
                Created::Exists => {}
                Created::Terminating => break,
                Created::Refused(why) => {
                    self.record(owner, [Note::warning("FailedCreate", format!("Error creating: {why}"))])?;
                    return Ok(Some(why));
                }
            }
        }
        Ok(None)
    }

    /// Records notes of the controller of an object.
    pub(super) fn record(
        &mut self,
        about: &Value,
        notes: impl IntoIterator<Item = Note>,
    ) -> Result<(), WriteError> {
        let component = match about["kind"].as_str() {
            Some("ReplicationController") => "replication-controller".to_owned(),
            kind => format!("{}-controller", kind.unwrap_or_default().to_lowercase()),
        };
        notes.into_iter().try_for_each(|note| self.record_by(&component, about, None, &note))
    }
}

/// The collisions of names of an owner, with one more.
pub(super) fn collisions_after(owner: &Value) -> i64 {
    let collisions = owner["status"]["collisionCount"].as_i64().unwrap_or(0);
    collisions.saturating_add(1).min(i32::MAX.into())
}
