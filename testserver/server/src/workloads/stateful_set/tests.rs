//! Tests of the plans for StatefulSets.

use super::*;
use crate::workloads::pod::{MAX_PODS, REVISION, read};

const NAMES: RevisionNames<'static> = RevisionNames { current: "db-a", update: "db-b" };

fn set(replicas: i64, spec: Value) -> Value {
    let mut set = json!({"metadata": {"name": "db", "generation": 1}, "spec": spec});
    set["spec"]["replicas"] = replicas.into();
    set
}

fn pod(ordinal: i64, revision: &str, ready: bool) -> Value {
    let ready = if ready { "True" } else { "False" };
    json!({"metadata": {"name": format!("db-{ordinal}"), "labels": {REVISION: revision}},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}})
}

fn plan(set: &Value, pods: &[Value]) -> StatefulPlan {
    plan_stateful_set(set, &read(pods), NAMES, "2026-01-01T00:00:00Z")
}

fn ordinals(plan: &StatefulPlan) -> Vec<i64> {
    plan.create.iter().map(|(ordinal, _)| *ordinal).collect()
}

#[test]
fn pods_come_one_after_the_other() {
    let ordered = set(3, json!({}));
    assert_eq!(ordinals(&plan(&ordered, &[])), [0]);
    assert_eq!(ordinals(&plan(&ordered, &[pod(0, "db-b", false)])), [0; 0]);
    assert_eq!(ordinals(&plan(&ordered, &[pod(0, "db-b", true)])), [1]);
    let parallel = set(3, json!({"podManagementPolicy": "Parallel", "ordinals": {"start": 5}}));
    assert_eq!(ordinals(&plan(&parallel, &[])), [5, 6, 7]);
    assert_eq!(ordinals(&plan(&parallel, &[pod(6, "db-b", false)])), [5, 7]);
    let endless = set(i64::from(i32::MAX), json!({"podManagementPolicy": "Parallel"}));
    assert_eq!(plan(&endless, &[]).create.len(), MAX_PODS);
}

#[test]
fn surplus_pods_go_from_the_last_to_the_first() {
    let pods = [pod(2, "db-b", true), pod(0, "db-b", true), pod(1, "db-b", true)];
    let down = plan(&set(1, json!({})), &pods);
    assert_eq!((down.delete, down.condemned), (vec![0], vec![0, 2]));
    assert_eq!(plan(&set(1, json!({"podManagementPolicy": "Parallel"})), &pods).delete, [0, 2]);
    let broken = [pod(0, "db-b", true), pod(1, "db-b", false), pod(2, "db-b", false)];
    assert_eq!(plan(&set(1, json!({})), &broken).delete, [0; 0], "the first unhealthy one halts it");
    assert_eq!(plan(&set(1, json!({})), &broken[..2]).delete, [1]);
}

#[test]
fn a_rollout_goes_from_the_last_to_the_first_down_to_the_partition() {
    let old = |ordinal| pod(ordinal, "db-a", true);
    let new = |ordinal, ready| pod(ordinal, "db-b", ready);
    let rolling = |rolling: Value| {
        set(3, json!({"podManagementPolicy": "Parallel", "updateStrategy": {"rollingUpdate": rolling}}))
    };
    assert_eq!(plan(&rolling(json!({})), &[old(0), old(1), old(2)]).delete, [2]);
    assert_eq!(plan(&rolling(json!({})), &[old(0), old(1), new(2, false)]).delete, [0; 0]);
    assert_eq!(plan(&rolling(json!({})), &[old(0), old(1), new(2, true)]).delete, [1]);
    assert_eq!(plan(&rolling(json!({"maxUnavailable": "50%"})), &[old(0), old(1), old(2)]).delete, [2, 1]);
    assert_eq!(plan(&rolling(json!({"partition": 2})), &[old(0), old(1), new(2, true)]).delete, [0; 0]);
    // A pod below the partition comes back as it was.
    let canary = plan(&rolling(json!({"partition": 2})), &[old(0), new(2, true)]);
    assert_eq!(canary.create, [(1, "db-a".to_owned())]);
    let by_hand = set(2, json!({"updateStrategy": {"type": "OnDelete"}}));
    assert_eq!(plan(&by_hand, &[old(0), old(1)]).delete, [0; 0]);
    assert_eq!(plan(&by_hand, &[old(0)]).create, [(1, "db-b".to_owned())]);
}

#[test]
fn the_status_counts_pods_by_revision() {
    let set = set(2, json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}}));
    let half = plan(&set, &[pod(0, "db-a", true), pod(1, "db-b", true)]).status;
    assert_eq!(
        half,
        json!({"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        "currentReplicas": 1, "updatedReplicas": 1, "currentRevision": "db-a", "updateRevision": "db-b", "collisionCount": 0})
    );
    let done = plan(&set, &[pod(0, "db-b", true), pod(1, "db-b", true)]).status;
    assert_eq!((&done["currentRevision"], &done["currentReplicas"]), (&json!("db-b"), &json!(2)));
    let mut going = pod(1, "db-a", true);
    going["metadata"]["deletionTimestamp"] = "t".into();
    let status = plan(&set, &[pod(0, "db-a", true), going]).status;
    assert_eq!(
        (&status["replicas"], &status["currentReplicas"], &status["availableReplicas"]),
        (&json!(2), &json!(1), &json!(1))
    );
}

#[test]
fn pods_wait_until_the_one_before_has_been_ready_long_enough() {
    let mut first = pod(0, "db-b", true);
    first["status"]["conditions"][0]["lastTransitionTime"] = "2025-12-31T23:59:57Z".into();
    let early = plan(&set(2, json!({"minReadySeconds": 5})), std::slice::from_ref(&first));
    assert_eq!((ordinals(&early), early.requeue_after), (vec![], Some(2)));
    let late = plan(&set(2, json!({"minReadySeconds": 3})), &[first]);
    assert_eq!((ordinals(&late), late.requeue_after), (vec![1], None));
}

#[test]
fn a_pod_that_is_over_is_replaced() {
    let mut failed = pod(0, "db-b", false);
    failed["status"]["phase"] = "Failed".into();
    assert_eq!(plan(&set(1, json!({})), &[failed]).delete, [0]);
}
