//! Runs a workload controller: reads, plans, writes.

use std::sync::Arc;

use serde_json::Value;

use super::WorkloadTask;
use crate::{
    cluster::{ClusterState, create::Created, owners::ObjectId},
    object::{event::Note, meta, selector::LabelSelector},
    scheme::Resource,
    storage::{Key, WriteError},
    workloads::{plan_budget, plan_replicas, plan_rollout, pod_from_template, selects, with_failure},
};

/// The time after which a controller repeats a creation that admission refused.
pub(super) const RETRY_SECONDS: u64 = 1;

impl ClusterState {
    pub(in crate::cluster) fn run_workload(&mut self, task: &WorkloadTask) -> Result<(), WriteError> {
        match task {
            WorkloadTask::Adopt(namespace, kind, only) => self.adopt_objects(namespace, *kind, only.as_ref()),
            WorkloadTask::CronJob(id) => self.reconcile_cron_job(id),
            WorkloadTask::Job(id) => self.reconcile_job(id),
            WorkloadTask::FreeJobPod(id) => self.free_job_pod(id),
            WorkloadTask::ReplicaSet(id) => self.reconcile_replica_set(id),
            WorkloadTask::StatefulSet(id) => self.reconcile_stateful_set(id),
            WorkloadTask::DaemonSet(id) => self.reconcile_daemon_set(id),
            WorkloadTask::Deployment(id) => self.reconcile_deployment(id),
            WorkloadTask::RemoveEndpoints(service) => self.remove_endpoints(service),
            WorkloadTask::Endpoints(service) => self.reconcile_endpoints(service),
            WorkloadTask::Budgets(namespace) => self.count_budgets(namespace),
        }
    }

    /// Updates the status of all budgets of a namespace. Reads all its pods, once per request.
    fn count_budgets(&mut self, namespace: &str) -> Result<(), WriteError> {
        let (budgets, pods) =
            (self.storage.resource("policy", "poddisruptionbudgets"), self.storage.resource("", "pods"));
        let (Some(budgets), Some(pods)) = (budgets, pods) else { return Ok(()) };
        let all: Vec<_> = self.storage.store.objects(budgets.table, Some(namespace)).cloned().collect();
        let mut requeue_after = None;
        for stored in all {
            let budget = stored.value();
            let Some(selector) = LabelSelector::from_object(&budget["spec"]["selector"]) else { continue };
            let selected = self.storage.store.objects(pods.table, Some(namespace));
            let selected = selected.filter(|pod| selector.matches(|key| pod.label(key)));
            let selected: Vec<Value> = selected.map(|pod| pod.value()).collect();
            let plan = plan_budget(&budget, &selected, &self.now());
            requeue_after = requeue_after.into_iter().chain(plan.requeue_after).min();
            self.write_status(&budgets, &stored.key, &budget, plan.status)?;
        }
        if let Some(seconds) = requeue_after {
            self.work.enqueue_after(WorkloadTask::Budgets(namespace.to_owned()).into(), seconds);
        }
        Ok(())
    }

    fn reconcile_replica_set(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let Some((resource, set)) = self.reconciled(id) else { return Ok(()) };
        let (keys, pods) = self.claimed(&set, "", "pods")?;
        let plan = plan_replicas(&set, &pods, &self.now());
        if let Some(seconds) = plan.requeue_after {
            self.work.enqueue_after(WorkloadTask::ReplicaSet(id.clone()).into(), seconds);
        }
        self.write_status(&resource, &id.1, &set, plan.status.clone())?;
        for at in plan.delete {
            self.delete_pod_of(&set, &keys[at])?;
        }
        let new = std::iter::repeat_with(|| pod_from_template(&set, &set["spec"]["template"]));
        if let Some(refusal) = self.create_pods(&set, new.take(plan.create))? {
            self.retry(WorkloadTask::ReplicaSet(id.clone()));
            let Some((_, set)) = self.reconciled(id) else { return Ok(()) };
            let status = with_failure(&set, plan.status, &refusal, &self.now());
            self.write_status(&resource, &id.1, &set, status)?;
        }
        Ok(())
    }

    fn reconcile_deployment(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let Some((resource, mut deployment)) = self.reconciled(id) else { return Ok(()) };
        let (keys, sets) = self.claimed(&deployment, "apps", "replicasets")?;
        let mut plan = plan_rollout(&deployment, &sets, &self.now());
        if let Some(seconds) = plan.requeue_after {
            self.work.enqueue_after(WorkloadTask::Deployment(id.clone()).into(), seconds);
        }
        // A selector by a label that is set here would release every ReplicaSet, and create the next one for ever.
        if let Some(set) = plan.create.take().filter(|set| selects(&deployment, set)) {
            match self.create("apps", "replicasets", set)? {
                Created::Stored(_) | Created::Terminating => {}
                Created::Refused(_) => {
                    self.work.enqueue_after(WorkloadTask::Deployment(id.clone()).into(), RETRY_SECONDS);
                }
                // Of another owner, or of none: the next attempt takes another name. The write of the status enqueues it.
                Created::Exists => {
                    plan.status["collisionCount"] = collisions_after(&deployment).into();
                }
            }
        }
        let replica_sets = self.storage.resource("apps", "replicasets");
        let mut changed = sets.clone();
        let mut notes = Vec::new();
        for (at, replicas) in plan.scale {
            let (name, before) = (meta::name(&sets[at]), sets[at]["spec"]["replicas"].as_i64().unwrap_or(0));
            let way = if replicas > before { "up" } else { "down" };
            let message = format!("Scaled {way} replica set {name} from {before} to {replicas}");
            notes.push(Note::normal("ScalingReplicaSet", message));
            changed[at]["spec"]["replicas"] = replicas.into();
            for (name, size) in &plan.sizes {
                changed[at]["metadata"]["annotations"][*name] = size.as_str().into();
            }
            let generation = changed[at]["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            meta::set(&mut changed[at], "generation", generation);
        }
        if let Some((at, seconds)) = plan.min_ready {
            changed[at]["spec"]["minReadySeconds"] = seconds;
            let generation = changed[at]["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            meta::set(&mut changed[at], "generation", generation);
        }
        if let Some((at, revision)) = plan.revision {
            for object in [&mut changed[at], &mut deployment] {
                object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] =
                    revision.as_str().into();
            }
            self.put(&resource, id.1.clone(), deployment.clone())?;
        }
        for at in 0..sets.len() {
            if changed[at] != sets[at]
                && let Some(replica_sets) = &replica_sets
            {
                self.put(replica_sets, keys[at].clone(), changed[at].take())?;
            }
        }
        for at in plan.delete {
            self.delete_owned("apps", "replicasets", &keys[at])?;
        }
        self.record(&deployment, notes)?;
        self.write_status(&resource, &id.1, &deployment, plan.status)
    }

    /// Counts a collision of names: the write of the status starts the next attempt, with another name.
    pub(super) fn count_collision(
        &mut self,
        resource: &Resource,
        id: &ObjectId,
        owner: &Value,
    ) -> Result<(), WriteError> {
        let mut status = owner["status"].clone();
        status["collisionCount"] = collisions_after(owner).into();
        self.write_status(resource, &id.1, owner, status)
    }

    pub(super) fn reconciled(&self, (table, key): &ObjectId) -> Option<(Arc<Resource>, Value)> {
        let resource = self.storage.scheme.by_table(*table)?.clone();
        Some((resource, self.storage.store.get(*table, key)?.value()))
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
}

/// The collisions of names of an owner, with one more.
fn collisions_after(owner: &Value) -> i64 {
    let known = owner["status"]["collisionCount"].as_i64().unwrap_or(0);
    known.saturating_add(1).min(i32::MAX.into())
}
