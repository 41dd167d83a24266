//! Every rule, by examples: a kind, its status, and the expected state and message.

use serde_json::{Value, json};

use super::{Readiness, ReadyState};

const READY: ReadyState = ReadyState::Ready;
const IN_PROGRESS: ReadyState = ReadyState::InProgress;
const FAILED: ReadyState = ReadyState::Failed;

/// An object of generation 2, named `web`.
fn judge(api_version: &str, kind: &str, spec: &Value, status: &Value) -> (ReadyState, String) {
    let object = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": { "name": "web", "generation": 2 },
        "spec": spec,
        "status": status,
    });
    let readiness = Readiness::of_dynamic(&serde_json::from_value(object).unwrap());
    (readiness.state, readiness.message)
}

/// Each message contains the text.
fn check(api_version: &str, kind: &str, cases: &[(Value, Value, ReadyState, &str)]) {
    for (spec, status, state, text) in cases {
        let (actual_state, message) = judge(api_version, kind, spec, status);
        assert_eq!(actual_state, *state, "{kind} {spec} {status}: {message}");
        assert!(message.contains(text), "{kind} {spec} {status}: {message}");
    }
}

fn condition(type_: &str, status: &str) -> Value {
    json!({ "conditions": [{ "type": type_, "status": status, "reason": "Why", "message": "because" }] })
}

#[test]
fn deployments_have_the_texts_of_kubectl() {
    let three = json!({ "replicas": 3 });
    let with = |replicas: i64, updated: i64, available: i64| json!({ "observedGeneration": 2, "replicas": replicas, "updatedReplicas": updated, "availableReplicas": available });
    let deadline = json!({ "observedGeneration": 2, "conditions": [
        { "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded" },
    ] });
    check(
        "apps/v1",
        "Deployment",
        &[
            (three.clone(), json!({}), IN_PROGRESS, "Waiting for deployment spec update to be observed..."),
            (three.clone(), json!({ "observedGeneration": 1 }), IN_PROGRESS, "spec update to be observed"),
            (three.clone(), deadline, FAILED, r#"deployment "web" exceeded its progress deadline"#),
            (
                three.clone(),
                with(3, 1, 3),
                IN_PROGRESS,
                r#"Waiting for deployment "web" rollout to finish: 1 out of 3 new replicas have been updated..."#,
            ),
            (three.clone(), with(4, 3, 3), IN_PROGRESS, "1 old replicas are pending termination..."),
            (three.clone(), with(3, 3, 2), IN_PROGRESS, "2 of 3 updated replicas are available..."),
            (three, with(3, 3, 3), READY, r#"deployment "web" successfully rolled out"#),
            (json!({ "replicas": 0 }), with(0, 0, 0), READY, "successfully rolled out"),
            (json!({}), with(0, 0, 0), IN_PROGRESS, "0 out of 1 new replicas"),
        ],
    );
}

#[test]
fn stateful_sets_roll_out_down_to_their_partition() {
    let rolling = |partition: i64| json!({ "replicas": 3, "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": partition } } });
    let on_delete = json!({ "replicas": 3, "updateStrategy": { "type": "OnDelete" } });
    let with = |ready: i64, updated: i64| {
        json!({ "observedGeneration": 2, "readyReplicas": ready, "updatedReplicas": updated, "currentReplicas": 3 - updated,
                "currentRevision": "web-1", "updateRevision": "web-2" })
    };
    let mut done = with(3, 3);
    done["currentRevision"] = "web-2".into();
    done["currentReplicas"] = 3.into();
    check(
        "apps/v1",
        "StatefulSet",
        &[
            (rolling(0), json!({}), IN_PROGRESS, "Waiting for statefulset spec update to be observed..."),
            (rolling(0), with(1, 0), IN_PROGRESS, "Waiting for 2 pods to be ready..."),
            (
                rolling(1),
                with(3, 1),
                IN_PROGRESS,
                "Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...",
            ),
            (rolling(1), with(3, 2), READY, "partitioned roll out complete: 2 new pods have been updated..."),
            (
                json!({ "replicas": 3 }),
                with(3, 2),
                IN_PROGRESS,
                "waiting for statefulset rolling update to complete 2 pods at revision web-2...",
            ),
            (
                json!({ "replicas": 3 }),
                done,
                READY,
                "statefulset rolling update complete 3 pods at revision web-2...",
            ),
            (on_delete.clone(), with(3, 0), READY, "3 pods are ready"),
            (on_delete, with(2, 0), IN_PROGRESS, "Waiting for 1 pods to be ready..."),
        ],
    );
}

#[test]
fn daemon_sets_and_replica_sets_need_available_pods() {
    let with = |updated: i64, available: i64| json!({ "observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": updated, "numberAvailable": available });
    let on_delete = json!({ "updateStrategy": { "type": "OnDelete" } });
    check(
        "apps/v1",
        "DaemonSet",
        &[
            (json!({}), json!({}), IN_PROGRESS, "Waiting for daemon set spec update to be observed..."),
            (
                json!({}),
                with(1, 2),
                IN_PROGRESS,
                r#"Waiting for daemon set "web" rollout to finish: 1 out of 2 new pods have been updated..."#,
            ),
            (json!({}), with(2, 1), IN_PROGRESS, "1 of 2 updated pods are available..."),
            (json!({}), with(2, 2), READY, r#"daemon set "web" successfully rolled out"#),
            (on_delete, with(0, 2), READY, "successfully rolled out"),
        ],
    );
    let with = |replicas: i64, available: i64| json!({ "observedGeneration": 2, "replicas": replicas, "availableReplicas": available });
    let mut refused = with(0, 0);
    refused["conditions"] = condition("ReplicaFailure", "True")["conditions"].clone();
    let two = json!({ "replicas": 2 });
    for (api_version, kind) in [("apps/v1", "ReplicaSet"), ("v1", "ReplicationController")] {
        check(
            api_version,
            kind,
            &[
                (two.clone(), json!({}), IN_PROGRESS, "has not been observed"),
                (two.clone(), with(2, 1), IN_PROGRESS, "1 of 2 replicas are available"),
                (two.clone(), refused.clone(), IN_PROGRESS, "0 of 2 replicas are available: Why: because"),
                (two.clone(), with(3, 2), IN_PROGRESS, "1 replicas are pending termination"),
                (two.clone(), with(2, 2), READY, "2 replicas are available"),
            ],
        );
    }
}

#[test]
fn pods_are_ready_by_condition_and_say_what_they_wait_for() {
    let waiting = json!({ "phase": "Pending", "containerStatuses": [
        { "name": "a", "state": { "waiting": { "reason": "ContainerCreating" } } },
        { "name": "b", "state": { "waiting": { "reason": "ImagePullBackOff", "message": "no such image" } } },
    ] });
    let mut unscheduled = condition("PodScheduled", "False");
    unscheduled["phase"] = "Pending".into();
    let mut running = condition("Ready", "False");
    running["phase"] = "Running".into();
    check(
        "v1",
        "Pod",
        &[
            (json!({}), json!({}), IN_PROGRESS, "the phase of the pod is Pending"),
            (json!({}), waiting, IN_PROGRESS, r#"container "b" is waiting: ImagePullBackOff: no such image"#),
            (json!({}), unscheduled, IN_PROGRESS, "Why: because"),
            (json!({}), running, IN_PROGRESS, "Why: because"),
            (json!({}), condition("Ready", "True"), READY, "the pod is ready"),
            (json!({}), json!({ "phase": "Succeeded" }), READY, "the pod has succeeded"),
            (
                json!({}),
                json!({ "phase": "Failed", "reason": "Evicted" }),
                FAILED,
                "the pod has failed: Evicted",
            ),
        ],
    );
}

#[test]
fn jobs_end_ready_or_failed() {
    check(
        "batch/v1",
        "Job",
        &[
            (json!({}), json!({}), IN_PROGRESS, "0 active"),
            (json!({}), json!({ "active": 1, "failed": 2 }), IN_PROGRESS, "1 active, 0 succeeded, 2 failed"),
            (json!({}), condition("Suspended", "True"), IN_PROGRESS, "suspended"),
            (json!({}), condition("FailureTarget", "True"), IN_PROGRESS, "0 active"),
            (json!({}), condition("Failed", "True"), FAILED, "the job has failed: Why: because"),
            (json!({}), condition("Complete", "True"), READY, "completed"),
        ],
    );
}

#[test]
fn kinds_with_a_phase_are_ready_in_some_of_them() {
    let phase = |phase: &str| json!({ "phase": phase });
    let nothing = || json!({});
    check(
        "v1",
        "PersistentVolumeClaim",
        &[
            (nothing(), nothing(), IN_PROGRESS, "Pending"),
            (nothing(), phase("Pending"), IN_PROGRESS, "Pending"),
            (nothing(), phase("Bound"), READY, "bound"),
            (nothing(), phase("Lost"), FAILED, "lost"),
        ],
    );
    check(
        "v1",
        "PersistentVolume",
        &[
            (nothing(), nothing(), IN_PROGRESS, "Pending"),
            (nothing(), phase("Available"), READY, "Available"),
            (nothing(), phase("Released"), READY, "Released"),
            (nothing(), phase("Failed"), FAILED, "Failed"),
        ],
    );
    check(
        "v1",
        "Namespace",
        &[(nothing(), nothing(), IN_PROGRESS, "not set"), (nothing(), phase("Active"), READY, "active")],
    );
}

#[test]
fn kinds_with_an_address_or_a_condition_of_their_own_are_ready_with_it() {
    let nothing = || json!({});
    let balancer = || json!({ "type": "LoadBalancer" });
    let address = |field: &str, value: &str| json!({ "loadBalancer": { "ingress": [{ field: value }] } });
    check(
        "v1",
        "Service",
        &[
            (json!({ "type": "ClusterIP" }), nothing(), READY, "needs no address"),
            (nothing(), nothing(), READY, "needs no address"),
            (balancer(), nothing(), IN_PROGRESS, "no address"),
            (balancer(), address("ip", ""), IN_PROGRESS, "no address"),
            (json!({ "type": "LoadBalancer", "externalIPs": [] }), nothing(), IN_PROGRESS, "no address"),
            (json!({ "type": "LoadBalancer", "externalIPs": ["192.0.2.9"] }), nothing(), READY, "192.0.2.9"),
            (balancer(), address("ip", "192.0.2.1"), READY, "192.0.2.1"),
            (balancer(), address("hostname", "lb.example.com"), READY, "lb.example.com"),
        ],
    );
    check(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &[
            (nothing(), nothing(), IN_PROGRESS, "not established"),
            (nothing(), condition("Established", "False"), IN_PROGRESS, "not established: Why: because"),
            (nothing(), condition("Established", "True"), READY, "established"),
            (nothing(), condition("NamesAccepted", "False"), FAILED, "not accepted: Why: because"),
        ],
    );
    check(
        "apiregistration.k8s.io/v1",
        "APIService",
        &[
            (nothing(), nothing(), IN_PROGRESS, "not known"),
            (nothing(), condition("Available", "False"), IN_PROGRESS, "Why: because"),
            (nothing(), condition("Available", "True"), READY, "available"),
        ],
    );
}

#[test]
fn other_kinds_are_judged_by_generation_and_standard_conditions() {
    let nothing = || json!({});
    let observed = |generation: i64, type_: &str| json!({ "conditions": [{ "type": type_, "status": "True", "observedGeneration": generation }] });
    check(
        "example.com/v1",
        "Widget",
        &[
            (nothing(), nothing(), READY, "nothing to wait for"),
            (nothing(), json!({ "observedGeneration": 1 }), IN_PROGRESS, "has not been observed"),
            (nothing(), condition("Ready", "True"), READY, "condition Ready is True"),
            (nothing(), condition("Ready", "False"), IN_PROGRESS, "Why: because"),
            (nothing(), condition("Ready", "Unknown"), IN_PROGRESS, "Why: because"),
            (nothing(), condition("Available", "False"), IN_PROGRESS, "Why: because"),
            (nothing(), condition("Available", "True"), READY, "condition Available is True"),
            (nothing(), condition("Reconciling", "True"), IN_PROGRESS, "reconciling: Why: because"),
            (nothing(), condition("Stalled", "True"), FAILED, "stalled: Why: because"),
            (nothing(), observed(1, "Ready"), IN_PROGRESS, "of an older generation"),
            (nothing(), observed(2, "Ready"), READY, "condition Ready is True"),
        ],
    );
    // A kind of the same name in another group has none of the built-in rules.
    check("example.com/v1", "Deployment", &[(json!({ "replicas": 3 }), nothing(), READY, "nothing")]);
}

#[test]
fn what_is_being_deleted_is_not_ready() {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/a", "b"] },
    });
    let readiness = Readiness::of_dynamic(&serde_json::from_value(object).unwrap());
    assert_eq!(readiness.state, ReadyState::Terminating);
    assert_eq!(readiness.message, "is being deleted, after the finalizers example.com/a, b");
}

/// As 1.37 returns a pod after a change of its image: the conditions are those of the old spec.
#[test]
fn no_kind_is_ready_or_failed_before_its_current_generation_was_observed() {
    let kinds = [
        ("v1", "Pod", json!({}), json!({ "phase": "Running" })),
        ("v1", "Pod", json!({}), json!({ "phase": "Failed" })),
        ("batch/v1", "Job", json!({}), condition("Complete", "True")),
        ("batch/v1", "Job", json!({}), condition("Failed", "True")),
        ("v1", "PersistentVolumeClaim", json!({}), json!({ "phase": "Bound" })),
        ("v1", "PersistentVolume", json!({}), json!({ "phase": "Available" })),
        ("v1", "Service", json!({ "type": "ClusterIP" }), json!({})),
        ("v1", "Namespace", json!({}), json!({ "phase": "Active" })),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", json!({}), condition("Established", "True")),
        ("apiregistration.k8s.io/v1", "APIService", json!({}), condition("Available", "True")),
        ("apps/v1", "Deployment", json!({}), json!({})),
        ("example.com/v1", "Widget", json!({}), condition("Stalled", "True")),
    ];
    for (api_version, kind, spec, mut status) in kinds {
        if kind == "Pod" {
            status["conditions"] = condition("Ready", "True")["conditions"].clone();
        }
        status["observedGeneration"] = 1.into();
        let (state, message) = judge(api_version, kind, &spec, &status);
        assert_eq!(state, IN_PROGRESS, "{kind} {status}: {message}");
        assert!(message.contains("observed"), "{kind}: {message}");
    }
}

#[test]
fn a_condition_of_an_older_generation_decides_nothing() {
    for (api_version, kind, type_) in [
        ("v1", "Pod", "Ready"),
        ("batch/v1", "Job", "Complete"),
        ("batch/v1", "Job", "Failed"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "Established"),
        ("apiregistration.k8s.io/v1", "APIService", "Available"),
        ("example.com/v1", "Widget", "Ready"),
    ] {
        let mut status = condition(type_, "True");
        status["conditions"][0]["observedGeneration"] = 1.into();
        let (state, message) = judge(api_version, kind, &json!({}), &status);
        assert_eq!(state, IN_PROGRESS, "{kind} {type_}: {message}");
    }
}

#[test]
fn a_deletion_that_hangs_is_explained_by_its_conditions() {
    let remaining = |type_: &str, message: &str| json!({ "type": type_, "status": "True", "reason": "Some", "message": message });
    let object = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z" },
        "spec": { "finalizers": ["kubernetes"] },
        "status": { "phase": "Terminating", "conditions": [
            { "type": "NamespaceDeletionDiscoveryFailure", "status": "False", "reason": "ResourcesDiscovered", "message": "All" },
            remaining("NamespaceContentRemaining", "configmaps. has 1 resource instances"),
            remaining("NamespaceFinalizersRemaining", "example.com/x in 1 resource instances"),
        ] },
    });
    let readiness = Readiness::of_dynamic(&serde_json::from_value(object).unwrap());
    assert_eq!(
        (readiness.state, readiness.message.as_str()),
        (
            ReadyState::Terminating,
            "is being deleted, Some: configmaps. has 1 resource instances; Some: example.com/x in 1 resource instances"
        )
    );
}

#[test]
fn a_job_that_is_deleted_because_it_has_finished_has_its_outcome() {
    let job = |ttl: Value, deleted: bool, status: Value| -> kube_core::DynamicObject {
        let mut job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "j" },
            "spec": { "ttlSecondsAfterFinished": ttl }, "status": status });
        if deleted {
            job["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        serde_json::from_value(job).unwrap()
    };
    let [complete, failed] = ["Complete", "Failed"].map(|type_| condition(type_, "True"));
    let state = |ttl: Value, status: &Value| Readiness::of_dynamic(&job(ttl, true, status.clone())).state;
    assert_eq!(state(json!(0), &complete), READY);
    assert_eq!(state(json!(0), &failed), FAILED);
    assert_eq!(state(json!(0), &json!({ "active": 1 })), ReadyState::Terminating);
    assert_eq!(state(json!(null), &complete), ReadyState::Terminating);
    let gone = |ttl: Value, status: &Value, unseen: Option<u64>| {
        let unseen = unseen.map(std::time::Duration::from_secs);
        Readiness::of_gone(&job(ttl, false, status.clone()), unseen).map(|readiness| readiness.state)
    };
    let active = json!({ "active": 1 });
    assert_eq!(gone(json!(0), &active, Some(0)), Some(READY));
    assert_eq!(gone(json!(60), &active, Some(59)), None, "deleted by someone");
    assert_eq!(gone(json!(60), &active, Some(60)), Some(FAILED), "not known, so it is not ready");
    assert_eq!(gone(json!(60), &failed, Some(1)), Some(FAILED));
    assert_eq!(gone(json!(null), &complete, Some(600)), None);
    // Nothing was missed: someone has deleted it while it ran.
    assert_eq!(gone(json!(0), &active, None), None);
    assert_eq!(gone(json!(60), &complete, None), Some(READY));
    assert_eq!(gone(json!(0), &failed, None), Some(FAILED));
}

/// Nothing in an object makes a rule panic: fields of the wrong type are read as missing.
#[test]
fn odd_objects_do_not_panic() {
    let kinds = [
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("apps/v1", "ReplicaSet"),
        ("v1", "Pod"),
        ("v1", "Service"),
        ("batch/v1", "Job"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("example.com/v1", "Widget"),
    ];
    let odd = [
        json!(null),
        json!([]),
        json!("x"),
        json!({ "conditions": "x", "observedGeneration": "2", "replicas": i64::MIN, "updatedReplicas": i64::MAX }),
        json!({ "conditions": [1, null, {}], "containerStatuses": [null], "observedGeneration": 2, "replicas": -1 }),
        json!({ "observedGeneration": 2, "readyReplicas": i64::MIN, "replicas": i64::MAX, "updatedReplicas": i64::MIN }),
    ];
    for (api_version, kind) in kinds {
        for status in &odd {
            for spec in [
                json!(null),
                json!({ "replicas": i64::MAX, "updateStrategy": { "rollingUpdate": { "partition": i64::MIN } } }),
            ] {
                judge(api_version, kind, &spec, status);
            }
        }
    }
}
