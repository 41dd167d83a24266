//! Tests of the plans for Deployments.

use super::*;

fn deployment(replicas: i64, image: &str) -> Value {
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": image}]}});
    json!({"metadata": {"name": "web", "namespace": "n", "uid": "u", "generation": 1, "annotations": {REVISION: "1"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template}})
}

/// A ReplicaSet of this image with all pods, `available` of them available.
fn set(image: &str, replicas: i64, available: i64, revision: u64) -> Value {
    let mut set = replica_set(&deployment(replicas, image), revision);
    set["spec"]["replicas"] = replicas.into();
    set["status"] = json!({"replicas": replicas, "readyReplicas": available, "availableReplicas": available});
    set
}

#[test]
fn each_template_has_its_own_replica_set() {
    let rollout = plan_rollout(&deployment(3, "one"), &[], "t");
    let created = rollout.create.unwrap();
    let name = created["metadata"]["name"].as_str().unwrap();
    let hash = name.strip_prefix("web-").unwrap();
    assert_eq!(created["spec"]["selector"]["matchLabels"], json!({"app": "a", HASH: hash}));
    assert_eq!(created["spec"]["template"]["metadata"]["labels"][HASH], hash);
    assert_eq!(created["metadata"]["annotations"][REVISION], "1");
    let two = plan_rollout(&deployment(3, "two"), &[set("one", 3, 3, 1)], "t").create.unwrap();
    assert_ne!(two["metadata"]["name"], name);
    assert_eq!(two["metadata"]["annotations"][REVISION], "2");
}

#[test]
fn a_rolling_update_keeps_within_its_limits() {
    let mut sets = vec![set("one", 4, 4, 1), set("two", 0, 0, 2)];
    let deployment = deployment(4, "two");
    let mut steps = 0;
    loop {
        let scale = plan_rollout(&deployment, &sets, "t").scale;
        if scale.is_empty() {
            break;
        }
        for (at, replicas) in scale {
            // Old pods are deleted at once, new ones are available at the next step.
            sets[at]["spec"]["replicas"] = replicas.into();
        }
        let total: i64 = sets.iter().map(desired).sum();
        let available: i64 = sets.iter().map(|set| desired(set).min(count(set, "availableReplicas"))).sum();
        assert!(total <= 5 && available >= 3, "{total} pods, {available} available");
        for set in &mut sets {
            let replicas = set["spec"]["replicas"].clone();
            set["status"] = json!({"replicas": replicas, "availableReplicas": replicas});
        }
        steps += 1;
        assert!(steps < 10);
    }
    assert_eq!(sets.iter().map(desired).collect::<Vec<_>>(), [0, 4]);
    assert!(steps > 1, "one after the other");
}

#[test]
fn unavailable_pods_stop_the_rollout() {
    let sets = [set("one", 3, 3, 1), set("two", 1, 0, 2)];
    assert_eq!(plan_rollout(&deployment(4, "two"), &sets, "t").scale, [(1, 2)], "surge");
    let sets = [set("one", 3, 3, 1), set("two", 2, 0, 2)];
    let rollout = plan_rollout(&deployment(4, "two"), &sets, "t");
    assert_eq!(rollout.scale, []);
    let progressing = &rollout.status["conditions"][1];
    assert_eq!(
        (&progressing["type"], &progressing["reason"]),
        (&json!("Progressing"), &json!("ReplicaSetUpdated"))
    );
}

#[test]
fn recreate_deletes_all_old_pods_first() {
    let mut deployment = deployment(2, "two");
    deployment["spec"]["strategy"] = json!({"type": "Recreate"});
    assert_eq!(plan_rollout(&deployment, &[set("one", 2, 2, 1), set("two", 0, 0, 2)], "t").scale, [(0, 0)]);
    assert_eq!(plan_rollout(&deployment, &[set("one", 0, 0, 1), set("two", 0, 0, 2)], "t").scale, [(1, 2)]);
}

#[test]
fn a_complete_rollout_is_reported_and_stable() {
    let mut deployment = deployment(2, "one");
    let sets = [set("one", 2, 2, 1)];
    let rollout = plan_rollout(&deployment, &sets, "t");
    assert_eq!(
        (rollout.status["availableReplicas"].as_i64(), rollout.status.get("unavailableReplicas")),
        (Some(2), None)
    );
    assert_eq!(rollout.status["conditions"][0]["reason"], "MinimumReplicasAvailable");
    assert_eq!(rollout.status["conditions"][1]["reason"], "NewReplicaSetAvailable");
    deployment["status"] = rollout.status.clone();
    assert_eq!(plan_rollout(&deployment, &sets, "later").status, rollout.status);
    assert_eq!((rollout.create, rollout.revision, rollout.delete), (None, None, vec![]));
}

#[test]
fn scaling_does_not_start_a_rollout() {
    let mut deployment = deployment(0, "one");
    deployment["status"] = plan_rollout(&deployment, &[set("one", 0, 0, 1)], "t").status;
    deployment["status"]["collisionCount"] = 2.into();
    deployment["spec"]["replicas"] = 2.into();
    let rollout = plan_rollout(&deployment, &[set("one", 2, 0, 1)], "t");
    let reasons: Vec<_> =
        rollout.status["conditions"].as_array().unwrap().iter().map(|c| &c["reason"]).collect();
    assert_eq!(reasons, ["NewReplicaSetAvailable", "MinimumReplicasUnavailable"]);
    assert_eq!(rollout.status["collisionCount"], 2);
    assert_eq!(rollout.sizes.map(|(_, size)| size), ["2", "3"]);
}

#[test]
fn a_rollback_gets_the_newest_revision() {
    let sets = [set("one", 0, 0, 1), set("two", 2, 2, 2)];
    let rollout = plan_rollout(&deployment(2, "one"), &sets, "t");
    assert_eq!(rollout.revision, Some((0, "3".to_owned())));
    let mut keep_none = deployment(2, "two");
    keep_none["spec"]["revisionHistoryLimit"] = 0.into();
    assert_eq!(plan_rollout(&keep_none, &sets, "t").delete, [0]);
}

#[test]
fn a_rollover_removes_unavailable_pods_and_keeps_the_available_ones() {
    let mut deployment = deployment(1, "three");
    deployment["spec"]["strategy"] = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    let mut sets = [set("one", 1, 1, 1), set("two", 1, 0, 2), set("three", 0, 0, 3)];
    assert_eq!(plan_rollout(&deployment, &sets, "t").scale, [(1, 0)]);
    sets[1] = set("two", 0, 0, 2);
    assert_eq!(plan_rollout(&deployment, &sets, "t").scale, [(2, 1)]);
    sets[2] = set("three", 1, 0, 3);
    assert_eq!(plan_rollout(&deployment, &sets, "t").scale, [], "the new pod is not available yet");
    sets[2] = set("three", 1, 1, 3);
    assert_eq!(plan_rollout(&deployment, &sets, "t").scale, [(0, 0)]);
}
