//! Runs the controller of StatefulSets.

use serde_json::Value;

use super::{WorkloadTask, history::History, reconcile::RETRY_SECONDS};
use crate::{
    cluster::{ClusterState, create::Created, owners::ObjectId},
    object::{event::Note, meta},
    storage::{Key, WriteError},
    workloads::{
        RevisionNames, StatefulPlan, claims_of_set, ordinal_of, owned_claim, plan_stateful_set, pod_of_set,
    },
};

impl ClusterState {
    pub(super) fn reconcile_stateful_set(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let Some((resource, set)) = self.reconciled(id) else { return Ok(()) };
        if meta::is_deleting(&set) {
            return Ok(());
        }
        let history = self.recorded_history(&resource, id, &set, WorkloadTask::StatefulSet)?;
        let Some(history) = history else { return Ok(()) };
        let (keys, pods) = self.claimed(&set, "", "pods")?;
        let update = meta::name(&history.revisions[history.newest]);
        let current = set["status"]["currentRevision"].as_str();
        let current = current.filter(|name| history.find(name).is_some()).unwrap_or(update);
        let names = RevisionNames { current, update };
        let plan = plan_stateful_set(&set, &pods, names, &self.now());
        if let Some(seconds) = plan.requeue_after {
            self.work.enqueue_after(WorkloadTask::StatefulSet(id.clone()).into(), seconds);
        }
        self.write_status(&resource, &id.1, &set, plan.status.clone())?;
        self.own_claims(&set, &pods, &plan)?;
        for at in &plan.delete {
            self.delete_owned("", "pods", &keys[*at])?;
            let message = success("Delete", keys[*at].name(), meta::name(&set));
            self.record(&set, [Note::normal("SuccessfulDelete", message)])?;
        }
        if !self.create_stateful_pods(&set, &plan, &history)? {
            self.retry(WorkloadTask::StatefulSet(id.clone()));
        }
        self.truncate_history(&set, &history, |revision| {
            let name = meta::name(revision);
            let used = |pod: &Value| pod["metadata"]["labels"]["controller-revision-hash"] == name;
            [names.current, names.update].contains(&name) || pods.iter().any(used)
        })
    }

    /// Creates the planned pods after their claims, until admission refuses one. Whether all were created.
    fn create_stateful_pods(
        &mut self,
        set: &Value,
        plan: &StatefulPlan,
        history: &History,
    ) -> Result<bool, WriteError> {
        for (ordinal, revision) in &plan.create {
            let Some(revision) = history.find(revision) else { continue };
            for claim in claims_of_set(set, *ordinal) {
                let (claim_name, name) = (meta::name(&claim).to_owned(), meta::name(set));
                let of_pod = format!("Claim {claim_name} Pod {name}-{ordinal} in StatefulSet {name}");
                let note = match self.create("", "persistentvolumeclaims", claim)? {
                    Created::Stored(_) => {
                        Note::normal("SuccessfulCreate", format!("Create {of_pod} success"))
                    }
                    Created::Exists | Created::Terminating => continue,
                    Created::Refused(why) => {
                        let message = format!("Create {of_pod} failed error: {why}");
                        self.record(set, [Note::warning("FailedCreate", message)])?;
                        return Ok(false);
                    }
                };
                self.record(set, [note])?;
            }
            let name = format!("{}-{ordinal}", meta::name(set));
            match self.create("", "pods", pod_of_set(set, *ordinal, revision))? {
                Created::Stored(_) => {
                    let message = success("Create", &name, meta::name(set));
                    self.record(set, [Note::normal("SuccessfulCreate", message)])?;
                }
                // A pod of another owner, or of none, has the name: it may go.
                Created::Exists => {
                    let message = format!(
                        "create Pod {name} in StatefulSet {} failed error: pods {name:?} already exists",
                        meta::name(set)
                    );
                    self.record(set, [Note::warning("FailedCreate", message)])?;
                    return Ok(false);
                }
                Created::Terminating => break,
                Created::Refused(why) => {
                    let set_name = meta::name(set);
                    let message = format!("create Pod {name} in StatefulSet {set_name} failed error: {why}");
                    self.record(set, [Note::warning("FailedCreate", message)])?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Gives the claims of pods the owner that the retention policy wants.
    fn own_claims(&mut self, set: &Value, pods: &[Value], plan: &StatefulPlan) -> Result<(), WriteError> {
        let Some(claims) = self.storage.resource("", "persistentvolumeclaims") else { return Ok(()) };
        for (at, pod) in pods.iter().enumerate() {
            let Some(ordinal) = ordinal_of(set, pod) else { continue };
            let condemned = plan.condemned.contains(&at).then_some(pod);
            for claim in claims_of_set(set, ordinal) {
                let key = Key::new(meta::text(&claim, "namespace"), meta::name(&claim));
                let Some(stored) = self.storage.store.get(claims.table, &key) else { continue };
                if let Some(owned) = owned_claim(set, &stored.value(), condemned) {
                    self.put(&claims, key, owned)?;
                }
            }
        }
        Ok(())
    }

    /// Repeats a task after a refusal.
    pub(super) fn retry(&mut self, task: WorkloadTask) {
        self.work.enqueue_after(task.into(), RETRY_SECONDS);
    }
}

fn success(verb: &str, pod: &str, set: &str) -> String {
    format!("{verb} Pod {pod} in StatefulSet {set} successful")
}
