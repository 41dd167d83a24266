//! Runs the controller of StatefulSets.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{history::History, task::Requeue};
use crate::{
    cluster::{ClusterState, create::Created, owners::ObjectId},
    object::{event::Note, meta},
    storage::{Key, WriteError},
    workloads::{
        Pod, RevisionNames, StatefulPlan, claim_names, claims_of_set, ordinal_of, owned_claim,
        plan_stateful_set, pod_of_set,
    },
};

impl ClusterState {
    pub(super) fn reconcile_stateful_set(&mut self, id: &ObjectId) -> Result<Requeue, WriteError> {
        let living = self.storage.read(id.0, &id.1).filter(|(_, set)| !meta::is_deleting(set));
        let Some((resource, set)) = living else { return Ok(Requeue::default()) };
        let history = match self.recorded_history(&resource, &id.1, &set)? {
            Ok(history) => history,
            Err(requeue) => return Ok(requeue),
        };
        let stored = self.claimed(&set, "", "pods")?;
        let pods = self.work.caches.pods.all(&stored);
        let update = meta::name(&history.revisions[history.newest]);
        let current = set["status"]["currentRevision"].as_str();
        let current = current.filter(|name| history.find(name).is_some()).unwrap_or(update);
        let names = RevisionNames { current, update };
        let plan = plan_stateful_set(&set, &pods, names, &self.now());
        self.write_status(&resource, &id.1, &set, plan.status.clone())?;
        let owned = self.own_claims(&set, &pods, &plan)?;
        for at in &plan.delete {
            self.delete_owned("", "pods", &stored[*at].key)?;
            let message = success("Delete", pods[*at].name(), meta::name(&set));
            self.record(&set, [Note::normal("SuccessfulDelete", message)])?;
        }
        let refused = !self.create_stateful_pods(&set, &plan, &history)? || !owned;
        self.truncate_history(&set, &history, |revision| {
            let name = meta::name(revision);
            let used = |pod: &Arc<Pod>| pod.revision() == Some(name);
            [names.current, names.update].contains(&name) || pods.iter().any(used)
        })?;
        Ok(Requeue { after: plan.requeue_after, refused })
    }

    /// Creates the planned pods after their claims, until admission refuses one. Whether all were created.
    fn create_stateful_pods(
        &mut self,
        set: &Value,
        plan: &StatefulPlan,
        history: &History,
    ) -> Result<bool, WriteError> {
        let set_name = meta::name(set);
        for (ordinal, revision) in &plan.create {
            let Some(revision) = history.find(revision) else { continue };
            let name = format!("{set_name}-{ordinal}");
            for claim in claims_of_set(set, *ordinal) {
                let of_pod = format!("Claim {} Pod {name} in StatefulSet {set_name}", meta::name(&claim));
                match self.create("", "persistentvolumeclaims", claim)? {
                    Created::Stored(_) => {
                        let message = format!("Create {of_pod} success");
                        self.record(set, [Note::normal("SuccessfulCreate", message)])?;
                    }
                    Created::Exists | Created::Terminating => {}
                    Created::Refused(why) => {
                        let message = format!("Create {of_pod} failed error: {why}");
                        self.record(set, [Note::warning("FailedCreate", message)])?;
                        return Ok(false);
                    }
                }
            }
            let refusal = match self.create("", "pods", pod_of_set(set, *ordinal, revision))? {
                Created::Stored(_) => {
                    let message = success("Create", &name, set_name);
                    self.record(set, [Note::normal("SuccessfulCreate", message)])?;
                    continue;
                }
                // A pod of another owner, or of none, has the name: it may go.
                Created::Exists => format!("pods {name:?} already exists"),
                Created::Terminating => break,
                Created::Refused(why) => why,
            };
            let message = format!("create Pod {name} in StatefulSet {set_name} failed error: {refusal}");
            self.record(set, [Note::warning("FailedCreate", message)])?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Gives the claims of pods the owner that the retention policy wants. Whether no write was refused.
    fn own_claims(
        &mut self,
        set: &Value,
        pods: &[Arc<Pod>],
        plan: &StatefulPlan,
    ) -> Result<bool, WriteError> {
        let mut written = true;
        let Some(claims) = self.storage.resource("", "persistentvolumeclaims") else { return Ok(written) };
        let condemned: BTreeSet<usize> = plan.condemned.iter().copied().collect();
        for (at, pod) in pods.iter().enumerate() {
            let Some(ordinal) = ordinal_of(set, pod.name()) else { continue };
            let condemned = condemned.contains(&at).then_some(&pod.object);
            for name in claim_names(set, ordinal) {
                let key = Key::new(meta::text(set, "namespace"), &name);
                let Some(stored) = self.storage.store.get(claims.table, &key) else { continue };
                if let Some(owned) = owned_claim(set, &self.work.caches.objects.get(stored), condemned) {
                    written &= self.update(&claims, &key, owned)?.is_ok();
                }
            }
        }
        Ok(written)
    }
}

fn success(verb: &str, pod: &str, set: &str) -> String {
    format!("{verb} Pod {pod} in StatefulSet {set} successful")
}
