//! Runs the controller of Deployments.

use serde_json::Value;

use super::{run::collisions_after, task::Requeue};
use crate::{
    cluster::{ClusterState, create::Created, owners::ObjectId},
    object::{event::Note, meta},
    storage::WriteError,
    workloads::{REVISION, Rollout, plan_rollout, selects},
};

impl ClusterState {
    pub(super) fn reconcile_deployment(&mut self, id: &ObjectId) -> Result<Requeue, WriteError> {
        let Some((resource, mut deployment)) = self.storage.read(id.0, &id.1) else {
            return Ok(Requeue::default());
        };
        let stored = self.claimed(&deployment, "apps", "replicasets")?;
        let sets: Vec<Value> = stored.iter().map(|stored| stored.value()).collect();
        let mut plan = plan_rollout(&deployment, &sets, &self.now());
        let mut refused = false;
        // A selector by a label that is set here would release every ReplicaSet, and create the next one for ever.
        if let Some(set) = plan.create.take().filter(|set| selects(&deployment, set)) {
            match self.create("apps", "replicasets", set)? {
                Created::Stored(_) | Created::Terminating => {}
                Created::Refused(_) => refused = true,
                // Of another owner, or of none: the next attempt takes another name. The write of the status enqueues it.
                Created::Exists => plan.status["collisionCount"] = collisions_after(&deployment).into(),
            }
        }
        let (changed, notes) = changed_sets(&sets, &plan);
        if let Some((_, revision)) = &plan.revision {
            deployment["metadata"]["annotations"][REVISION] = revision.as_str().into();
            refused |= self.update(&resource, &id.1, deployment)?.is_err();
            let Some((_, written)) = self.storage.read(id.0, &id.1) else { return Ok(Requeue::default()) };
            deployment = written;
        }
        if let Some(replica_sets) = self.storage.resource("apps", "replicasets") {
            for (at, set) in changed.into_iter().enumerate().filter(|(at, set)| *set != sets[*at]) {
                refused |= self.update(&replica_sets, &stored[at].key, set)?.is_err();
            }
        }
        for at in &plan.delete {
            self.delete_owned("apps", "replicasets", &stored[*at].key)?;
        }
        self.record(&deployment, notes)?;
        self.write_status(&resource, &id.1, &deployment, plan.status)?;
        Ok(Requeue { after: plan.requeue_after, refused })
    }
}

/// The ReplicaSets as a rollout wants them, and the notes about their sizes.
fn changed_sets(sets: &[Value], plan: &Rollout) -> (Vec<Value>, Vec<Note>) {
    let mut changed = sets.to_vec();
    let mut notes = Vec::new();
    for (at, replicas) in &plan.scale {
        let (set, before) = (&mut changed[*at], sets[*at]["spec"]["replicas"].as_i64().unwrap_or(0));
        let way = if *replicas > before { "up" } else { "down" };
        let message = format!("Scaled {way} replica set {} from {before} to {replicas}", meta::name(set));
        notes.push(Note::normal("ScalingReplicaSet", message));
        set["spec"]["replicas"] = (*replicas).into();
        for (annotation, size) in &plan.sizes {
            set["metadata"]["annotations"][*annotation] = size.as_str().into();
        }
    }
    if let Some((at, seconds)) = &plan.min_ready {
        changed[*at]["spec"]["minReadySeconds"] = seconds.clone();
    }
    if let Some((at, revision)) = &plan.revision {
        changed[*at]["metadata"]["annotations"][REVISION] = revision.as_str().into();
    }
    (changed, notes)
}
