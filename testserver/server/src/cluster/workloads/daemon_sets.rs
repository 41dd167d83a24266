//! Runs the controller of DaemonSets.

use std::sync::Arc;

use serde_json::Value;

use super::{WorkloadTask, task::Requeue};
use crate::{
    cluster::{ClusterState, owners::ObjectId, work::Work},
    object::{event::Note, meta},
    storage::{Storage, Stored, WriteError},
    workloads::{hash_label, plan_daemon_set, pod_of_daemon, selects},
};

impl Work {
    /// Enqueues the DaemonSets after a change of a node that may change where pods run.
    pub(super) fn enqueue_daemon_sets(
        &mut self,
        storage: &Storage,
        before: Option<&Stored>,
        after: Option<&Stored>,
    ) {
        let Some(table) = storage.table("apps", "daemonsets") else { return };
        let mut sets = storage.store.objects(table, None).peekable();
        if sets.peek().is_none() {
            return;
        }
        if let (Some(before), Some(after)) = (before, after)
            && before.labels == after.labels
            && before.value()["spec"] == after.value()["spec"]
        {
            return;
        }
        for set in sets {
            self.enqueue(WorkloadTask::DaemonSet((table, set.key.clone())).into());
        }
    }
}

impl ClusterState {
    pub(super) fn reconcile_daemon_set(&mut self, id: &ObjectId) -> Result<Requeue, WriteError> {
        let living = self.storage.read(id.0, &id.1).filter(|(_, set)| !meta::is_deleting(set));
        let Some((resource, set)) = living else { return Ok(Requeue::default()) };
        let history = match self.recorded_history(&resource, &id.1, &set)? {
            Ok(history) => history,
            Err(requeue) => return Ok(requeue),
        };
        let stored = self.claimed(&set, "", "pods")?;
        let pods = self.work.caches.pods.all(&stored);
        let hash = &history.revisions[history.newest]["metadata"]["labels"][hash_label(&set)];
        let hash = hash.as_str().unwrap_or_default();
        let plan = plan_daemon_set(&set, &pods, &self.nodes(), hash, &self.now());
        self.write_status(&resource, &id.1, &set, plan.status)?;
        for at in plan.delete {
            let (key, pod) = (&stored[at].key, &pods[at].object);
            if pod["status"]["phase"] == "Failed" {
                let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
                let message = format!("Found failed daemon pod {key} on node {node}, will try to kill it");
                self.record(&set, [Note::warning("FailedDaemonPod", message)])?;
            }
            self.delete_pod_of(&set, key)?;
        }
        let new = plan.create.iter().map(|node| pod_of_daemon(&set, node, hash));
        // A selector by a label that is set here would release every pod, and create the next one for ever.
        let new = new.filter(|pod| selects(&set, pod));
        let refused = self.create_pods(&set, new)?.is_some();
        self.truncate_history(&set, &history, |revision| {
            let label = revision["metadata"]["labels"][hash_label(&set)].as_str();
            label == Some(hash) || pods.iter().any(|pod| pod.revision() == label)
        })?;
        Ok(Requeue { after: plan.requeue_after, refused })
    }

    fn nodes(&mut self) -> Vec<Arc<Value>> {
        let nodes = self.storage.table("", "nodes").into_iter();
        let nodes = nodes.flat_map(|table| self.storage.store.objects(table, None));
        nodes.map(|node| self.work.caches.objects.get(node)).collect()
    }
}
