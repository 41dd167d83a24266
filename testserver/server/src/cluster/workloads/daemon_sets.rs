//! Runs the controller of DaemonSets.

use serde_json::Value;

use super::WorkloadTask;
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
    pub(super) fn reconcile_daemon_set(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let Some((resource, set)) = self.reconciled(id) else { return Ok(()) };
        if meta::is_deleting(&set) {
            return Ok(());
        }
        let history = self.recorded_history(&resource, id, &set, WorkloadTask::DaemonSet)?;
        let Some(history) = history else { return Ok(()) };
        let (keys, pods) = self.claimed(&set, "", "pods")?;
        let hash = &history.revisions[history.newest]["metadata"]["labels"][hash_label(&set)];
        let hash = hash.as_str().unwrap_or_default();
        let plan = plan_daemon_set(&set, &pods, &self.nodes(), hash, &self.now());
        if let Some(seconds) = plan.requeue_after {
            self.work.enqueue_after(WorkloadTask::DaemonSet(id.clone()).into(), seconds);
        }
        self.write_status(&resource, &id.1, &set, plan.status)?;
        for at in plan.delete {
            if pods[at]["status"]["phase"] == "Failed" {
                let (namespace, name) = (meta::text(&pods[at], "namespace"), meta::name(&pods[at]));
                let (namespace, node) = (namespace.unwrap_or_default(), &pods[at]["spec"]["nodeName"]);
                let node = node.as_str().unwrap_or_default();
                let message =
                    format!("Found failed daemon pod {namespace}/{name} on node {node}, will try to kill it");
                self.record(&set, [Note::warning("FailedDaemonPod", message)])?;
            }
            self.delete_pod_of(&set, &keys[at])?;
        }
        let new = plan.create.iter().map(|node| pod_of_daemon(&set, node, hash));
        // A selector by a label that is set here would release every pod, and create the next one for ever.
        let new = new.filter(|pod| selects(&set, pod));
        if self.create_pods(&set, new)?.is_some() {
            self.retry(WorkloadTask::DaemonSet(id.clone()));
        }
        self.truncate_history(&set, &history, |revision| {
            let label = &revision["metadata"]["labels"][hash_label(&set)];
            *label == hash || pods.iter().any(|pod| pod["metadata"]["labels"][hash_label(&set)] == *label)
        })
    }

    fn nodes(&self) -> Vec<Value> {
        let table = self.storage.table("", "nodes").into_iter();
        table.flat_map(|table| self.storage.store.objects(table, None)).map(|node| node.value()).collect()
    }
}
