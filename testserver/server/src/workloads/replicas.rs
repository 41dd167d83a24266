//! ReplicaSet: keeps the number of pods at `replicas`.

use serde_json::{Map, Value, json};

use crate::object::selector::LabelSelector;

/// The largest number of pods per owner. Pods are created within the request: without a limit, a mistyped replica count would hang it. Real nodes hold 110.
pub(super) const MAX_PODS: usize = 1000;

/// How many pods an owner of these may still create.
pub(super) fn remaining_capacity(pods: &[Value]) -> usize {
    MAX_PODS.saturating_sub(pods.len())
}

/// The next actions for a ReplicaSet.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReplicaPlan {
    pub(crate) create: usize,
    /// Indexes in the list of pods.
    pub(crate) delete: Vec<usize>,
    pub(crate) status: Value,
}

/// The pod with an owner reference to the ReplicaSet; `None` if the ReplicaSet cannot adopt it.
pub(crate) fn adopt(set: &Value, pod: &Value) -> Option<Value> {
    let owners = pod["metadata"]["ownerReferences"].as_array();
    let controlled = owners.is_some_and(|owners| owners.iter().any(|owner| owner["controller"] == true));
    let deleting = |object: &Value| object["metadata"]["deletionTimestamp"].is_string();
    let selector = LabelSelector::from_object(&set["spec"]["selector"])?;
    let selected = !selector.is_empty() && selector.matches(|key| pod["metadata"]["labels"][key].as_str());
    if controlled || deleting(set) || !is_active(pod) || !selected {
        return None;
    }
    let mut adopted = pod.clone();
    let mut owners = owners.cloned().unwrap_or_default();
    owners.push(reference(set));
    adopted["metadata"]["ownerReferences"] = owners.into();
    Some(adopted)
}

/// The owner reference of a pod.
fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    })
}

/// Plans a ReplicaSet; `pods` are all pods that it owns.
pub(crate) fn plan_replicas(set: &Value, pods: &[Value]) -> ReplicaPlan {
    let wanted = usize::try_from(set["spec"]["replicas"].as_i64().unwrap_or(1)).unwrap_or(0);
    let mut active: Vec<usize> = (0..pods.len()).filter(|at| is_active(&pods[*at])).collect();
    let ready = active.iter().filter(|at| is_ready(&pods[**at])).count();
    let mut status = Map::from_iter([
        ("replicas".to_owned(), json!(active.len())),
        ("observedGeneration".to_owned(), set["metadata"]["generation"].clone()),
    ]);
    // Zero counts are omitted, as Go does.
    for (name, count) in
        [("fullyLabeledReplicas", active.len()), ("readyReplicas", ready), ("availableReplicas", ready)]
    {
        if count > 0 {
            status.insert(name.into(), count.into());
        }
    }
    if active.len() < wanted
        && let Some(failure) = failure(set)
    {
        status.insert("conditions".into(), json!([failure]));
    }
    let create = wanted.saturating_sub(active.len()).min(remaining_capacity(pods));
    // Delete unready pods first, then the youngest.
    active.sort_by_key(|at| {
        (is_ready(&pods[*at]), std::cmp::Reverse(pods[*at]["metadata"]["creationTimestamp"].to_string()))
    });
    active.truncate(active.len().saturating_sub(wanted));
    let deleting = set["metadata"]["deletionTimestamp"].is_string();
    if deleting {
        return ReplicaPlan { status: status.into(), ..ReplicaPlan::default() };
    }
    ReplicaPlan { create, delete: active, status: status.into() }
}

/// A pod from the template of its owner.
pub(crate) fn pod_from_template(owner: &Value, template: &Value) -> Value {
    let name = owner["metadata"]["name"].as_str().unwrap_or_default();
    let mut metadata = Map::new();
    for field in ["labels", "annotations", "finalizers"] {
        if !template["metadata"][field].is_null() {
            metadata.insert(field.into(), template["metadata"][field].clone());
        }
    }
    metadata.insert("generateName".into(), format!("{name}-").into());
    metadata.insert("namespace".into(), owner["metadata"]["namespace"].clone());
    metadata.insert("ownerReferences".into(), json!([reference(owner)]));
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// The condition of a ReplicaSet whose pods were refused.
const FAILURE: &str = "ReplicaFailure";

fn failure(set: &Value) -> Option<&Value> {
    set["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == FAILURE)
}

/// The status with the condition that a pod was refused. An earlier condition stays as it is, so that repeated refusals change nothing.
pub(crate) fn with_failure(set: &Value, mut status: Value, message: &str, now: &str) -> Value {
    let new = || {
        json!({"type": FAILURE, "status": "True", "lastTransitionTime": now, "reason": "FailedCreate",
            "message": message})
    };
    status["conditions"] = json!([failure(set).cloned().unwrap_or_else(new)]);
    status
}

/// Whether the pod has neither finished nor is being deleted.
pub(super) fn is_active(pod: &Value) -> bool {
    !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
        && pod["metadata"]["deletionTimestamp"].is_null()
}

pub(super) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|c| c["type"] == "Ready" && c["status"] == "True"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(ready: bool, created: &str) -> Value {
        let status = if ready { "True" } else { "False" };
        json!({"metadata": {"creationTimestamp": created},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}})
    }

    fn set(replicas: i64) -> Value {
        json!({"metadata": {"generation": 2}, "spec": {"replicas": replicas}})
    }

    #[test]
    fn missing_pods_are_created_and_surplus_pods_deleted() {
        let plan = plan_replicas(&set(3), &[pod(true, "1")]);
        assert_eq!((plan.create, plan.delete.len()), (2, 0));
        assert_eq!(plan.status["readyReplicas"], 1);
        let pods = [pod(true, "1"), pod(true, "3"), pod(false, "0"), pod(true, "2")];
        let plan = plan_replicas(&set(2), &pods);
        assert_eq!((plan.create, plan.delete), (0, vec![2, 1]), "the unready one, then the youngest");
        assert_eq!(plan_replicas(&set(i64::from(i32::MAX)), &[]).create, MAX_PODS);
        let none = plan_replicas(&set(0), &[]);
        assert_eq!(none.status, json!({"replicas": 0, "observedGeneration": 2}));
    }

    #[test]
    fn an_unowned_pod_is_adopted_by_a_matching_replica_set() {
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "s", "uid": "u"},
            "spec": {"selector": {"matchLabels": {"app": "a"}}}});
        let mut orphan = pod(true, "1");
        assert_eq!(adopt(&set, &orphan), None);
        orphan["metadata"]["labels"] = json!({"app": "a"});
        let adopted = adopt(&set, &orphan).unwrap();
        assert_eq!(adopted["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!(adopt(&set, &adopted), None, "once");
    }

    #[test]
    fn finished_and_terminating_pods_do_not_count() {
        let mut over = pod(false, "1");
        over["status"]["phase"] = "Failed".into();
        let mut going = pod(true, "1");
        going["metadata"]["deletionTimestamp"] = "2".into();
        assert_eq!(plan_replicas(&set(1), &[over, going]).create, 1);
    }
}
