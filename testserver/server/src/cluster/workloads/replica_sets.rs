//! Runs the controller of ReplicaSets and ReplicationControllers.

use super::task::Requeue;
use crate::{
    cluster::{ClusterState, owners::ObjectId},
    storage::WriteError,
    workloads::{plan_replicas, pod_from_template, with_failure},
};

impl ClusterState {
    pub(super) fn reconcile_replica_set(&mut self, id: &ObjectId) -> Result<Requeue, WriteError> {
        let Some((resource, set)) = self.storage.read(id.0, &id.1) else { return Ok(Requeue::default()) };
        let stored = self.claimed(&set, "", "pods")?;
        let plan = plan_replicas(&set, &self.work.caches.pods.all(&stored), &self.now());
        self.write_status(&resource, &id.1, &set, plan.status.clone())?;
        for at in plan.delete {
            self.delete_pod_of(&set, &stored[at].key)?;
        }
        let new = std::iter::repeat_with(|| pod_from_template(&set, &set["spec"]["template"]));
        let refusal = self.create_pods(&set, new.take(plan.create))?;
        if let Some(refusal) = &refusal
            && let Some((_, set)) = self.storage.read(id.0, &id.1)
        {
            let status = with_failure(&set, plan.status, refusal, &self.now());
            self.write_status(&resource, &id.1, &set, status)?;
        }
        Ok(Requeue { after: plan.requeue_after, refused: refusal.is_some() })
    }
}
