//! ReplicaSet and ReplicationController: keep the number of pods at `replicas`.

use std::{cmp::Reverse, sync::Arc};

use serde_json::{Map, Value, json};

use super::pod::{Pod, remaining_capacity};
use crate::object::meta;

/// The next actions for a ReplicaSet or a ReplicationController.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReplicaPlan {
    pub(crate) create: usize,
    /// Indexes in the list of pods.
    pub(crate) delete: Vec<usize>,
    /// Seconds until another pod has been ready for `minReadySeconds`.
    pub(crate) requeue_after: Option<u64>,
    pub(crate) status: Value,
}

/// Plans a ReplicaSet or a ReplicationController; `pods` are all pods that it owns.
pub(crate) fn plan_replicas(set: &Value, pods: &[Arc<Pod>], now: &str) -> ReplicaPlan {
    let replicas = usize::try_from(set["spec"]["replicas"].as_i64().unwrap_or(1)).unwrap_or(0);
    let mut active: Vec<usize> = (0..pods.len()).filter(|at| pods[*at].is_active()).collect();
    let ready = active.iter().filter(|at| pods[**at].is_ready()).count();
    let min_ready = set["spec"]["minReadySeconds"].as_u64().unwrap_or(0);
    let now = now.parse().ok();
    let waits: Vec<u64> = active.iter().filter_map(|at| pods[*at].available_in(min_ready, now)).collect();
    let available = waits.iter().filter(|seconds| **seconds == 0).count();
    let labels = &set["spec"]["template"]["metadata"]["labels"];
    let labeled = active.iter().filter(|at| has_labels(&pods[**at].object, labels)).count();
    let mut status = Map::from_iter([
        ("replicas".to_owned(), json!(active.len())),
        ("observedGeneration".to_owned(), set["metadata"]["generation"].clone()),
    ]);
    // Zero counts are omitted, as Go does.
    for (name, count) in
        [("fullyLabeledReplicas", labeled), ("readyReplicas", ready), ("availableReplicas", available)]
    {
        if count > 0 {
            status.insert(name.into(), count.into());
        }
    }
    if set["kind"] == "ReplicaSet" {
        let terminating = pods.iter().filter(|pod| pod.is_deleting() && !pod.is_over()).count();
        status.insert("terminatingReplicas".into(), terminating.into());
    }
    if active.len() < replicas
        && let Some(failure) = failure(set)
    {
        status.insert("conditions".into(), json!([failure]));
    }
    let create = replicas.saturating_sub(active.len()).min(remaining_capacity(pods.len()));
    // Delete unready pods first, then the youngest.
    let created = |at: usize| meta::text(&pods[at].object, "creationTimestamp");
    active.sort_by_key(|at| (pods[*at].is_ready(), Reverse(created(*at))));
    active.truncate(active.len().saturating_sub(replicas));
    let requeue_after = waits.into_iter().filter(|seconds| *seconds > 0).min();
    if meta::is_deleting(set) {
        return ReplicaPlan { status: status.into(), ..ReplicaPlan::default() };
    }
    ReplicaPlan { create, delete: active, requeue_after, status: status.into() }
}

/// The condition of an owner whose pods were refused.
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

fn has_labels(pod: &Value, labels: &Value) -> bool {
    let mut labels = labels.as_object().into_iter().flatten();
    labels.all(|(key, value)| pod["metadata"]["labels"][key] == *value)
}

#[cfg(test)]
mod tests {
    use super::{
        super::pod::{MAX_PODS, read},
        *,
    };

    fn plan_replicas(set: &Value, pods: &[Value], now: &str) -> ReplicaPlan {
        super::plan_replicas(set, &read(pods), now)
    }

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
        let plan = plan_replicas(&set(3), &[pod(true, "1")], "t");
        assert_eq!((plan.create, plan.delete.len()), (2, 0));
        assert_eq!(plan.status["readyReplicas"], 1);
        let pods = [pod(true, "1"), pod(true, "3"), pod(false, "0"), pod(true, "2")];
        let plan = plan_replicas(&set(2), &pods, "t");
        assert_eq!((plan.create, plan.delete), (0, vec![2, 1]), "the unready one, then the youngest");
        assert_eq!(plan_replicas(&set(i64::from(i32::MAX)), &[], "t").create, MAX_PODS);
        let none = plan_replicas(&set(0), &[], "t");
        assert_eq!(none.status, json!({"replicas": 0, "observedGeneration": 2}));
    }

    #[test]
    fn finished_and_terminating_pods_do_not_count() {
        let mut over = pod(false, "1");
        over["status"]["phase"] = "Failed".into();
        let mut going = pod(true, "1");
        going["metadata"]["deletionTimestamp"] = "2".into();
        assert_eq!(plan_replicas(&set(1), &[over.clone(), going.clone()], "t").create, 1);
        let mut owner = set(1);
        owner["kind"] = "ReplicaSet".into();
        assert_eq!(plan_replicas(&owner, &[over, going], "t").status["terminatingReplicas"], 1);
    }

    #[test]
    fn pods_are_available_after_their_minimum_time() {
        let mut ready = pod(true, "1");
        ready["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-01T00:00:00Z".into();
        let mut owner = set(1);
        owner["spec"]["minReadySeconds"] = 5.into();
        owner["spec"]["template"]["metadata"]["labels"] = json!({"app": "a"});
        let early = plan_replicas(&owner, &[ready.clone()], "2026-01-01T00:00:03Z");
        assert_eq!((early.requeue_after, &early.status["availableReplicas"]), (Some(2), &Value::Null));
        assert_eq!(early.status["fullyLabeledReplicas"], Value::Null);
        ready["metadata"]["labels"] = json!({"app": "a", "more": "b"});
        let late = plan_replicas(&owner, &[ready], "2026-01-01T00:00:05Z");
        assert_eq!((late.requeue_after, &late.status["availableReplicas"]), (None, &json!(1)));
        assert_eq!(late.status["fullyLabeledReplicas"], 1);
    }
}
