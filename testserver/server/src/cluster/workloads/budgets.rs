//! Runs the controller of PodDisruptionBudgets.

use std::sync::Arc;

use serde_json::Value;

use super::{WorkloadTask, task::Requeue};
use crate::{
    cluster::{ClusterState, work::Work},
    object::selector::LabelSelector,
    storage::{Key, Storage, Stored, WriteError},
    workloads::plan_budget,
};

impl Work {
    /// Enqueues a budget that was written, and records what it selects.
    pub(super) fn observe_budget(
        &mut self,
        storage: &Storage,
        before: Option<&Stored>,
        after: Option<&Stored>,
    ) {
        let Some(key) = after.or(before).map(|budget| &budget.key) else { return };
        let selector = after.map_or(Value::Null, |budget| budget.value()["spec"]["selector"].take());
        let parsed = after.and_then(|_| LabelSelector::from_object(&selector));
        let pods = storage.table("", "pods").into_iter();
        let pods = pods.flat_map(|pods| storage.store.objects(pods, key.namespace())).map(AsRef::as_ref);
        self.caches.budgets.record(key, parsed, &selector["matchLabels"], pods);
        if after.is_some() {
            self.enqueue(WorkloadTask::Budget(key.clone()).into());
        }
    }

    /// Enqueues the budgets of a pod that has changed.
    pub(super) fn enqueue_budgets(&mut self, before: Option<&Stored>, after: Option<&Stored>) {
        for budget in self.caches.budgets.record_pod(before, after) {
            self.enqueue(WorkloadTask::Budget(budget).into());
        }
    }
}

impl ClusterState {
    /// Updates the status of a budget.
    pub(super) fn reconcile_budget(&mut self, key: &Key) -> Result<Requeue, WriteError> {
        let table = self.storage.table("policy", "poddisruptionbudgets");
        let table = table.filter(|_| self.work.caches.budgets.selects(key));
        let Some((budgets, budget)) = table.and_then(|table| self.storage.read(table, key)) else {
            return Ok(Requeue::default());
        };
        let selected = self.work.caches.budgets.pods(key);
        let selected = selected.filter_map(|pod| self.storage.object("", "pods", pod));
        let selected: Vec<Arc<Stored>> = selected.cloned().collect();
        let plan = plan_budget(&budget, &self.work.caches.pods.all(&selected), &self.now());
        self.write_status(&budgets, key, &budget, plan.status)?;
        Ok(Requeue { after: plan.requeue_after, refused: false })
    }
}
