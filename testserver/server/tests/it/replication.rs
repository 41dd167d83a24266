//! ReplicationControllers, and what ReplicaSets and Deployments own.

use kube_testserver::{ApiServer, BuiltInController};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const PODS: &str = "/api/v1/namespaces/default/pods";
const CONTROLLERS: &str = "/api/v1/namespaces/default/replicationcontrollers";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn client() -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    TestClient { api: builder.service().unwrap() }
}

fn template(labels: Value) -> Value {
    json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

fn controller(name: &str, replicas: u32) -> Value {
    json!({"metadata": {"name": name}, "spec": {"replicas": replicas, "template": template(json!({"app": name}))}})
}

fn pod(name: &str, app: &str) -> Value {
    let mut pod = template(json!({"app": app}));
    pod["metadata"]["name"] = name.into();
    pod
}

async fn items(client: &TestClient, path: &str) -> Vec<Value> {
    client.get(path).await.ok()["items"].as_array().unwrap().clone()
}

/// The name of the owner that controls a pod.
async fn owner_of(client: &TestClient, pod: &str) -> Value {
    let pod = client.get(&format!("{PODS}/{pod}")).await.ok();
    let mut owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.find(|owner| owner["controller"] == true).map_or(Value::Null, |owner| owner["name"].clone())
}

/// The objects and counts are those of a genuine server (1.37).
#[tokio::test(start_paused = true)]
async fn a_replication_controller_keeps_its_pods() {
    let client = client();
    let path = format!("{CONTROLLERS}/a");
    let made = client.post(CONTROLLERS, controller("a", 2)).await.ok();
    assert_eq!((&made["spec"]["selector"], &made["status"]), (&json!({"app": "a"}), &json!({"replicas": 0})));
    let status = |ready: u32, generation: u32| {
        json!({"replicas": ready, "fullyLabeledReplicas": ready, "readyReplicas": ready, "availableReplicas": ready,
            "observedGeneration": generation})
    };
    assert_eq!(client.get(&path).await.ok()["status"], status(2, 1));
    let pods = items(&client, PODS).await;
    let reference = json!({"apiVersion": "v1", "kind": "ReplicationController", "name": "a",
        "uid": made["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true});
    assert_eq!((pods.len(), &pods[0]["metadata"]["ownerReferences"]), (2, &json!([reference])));
    assert_eq!(pods[0]["metadata"]["generateName"], "a-");

    let scale = client.patch(MERGE, &format!("{path}/scale"), json!({"spec": {"replicas": 3}})).await.ok();
    assert_eq!((&scale["spec"]["replicas"], &scale["status"]["selector"]), (&json!(3), &json!("app=a")));
    assert_eq!(client.get(&path).await.ok()["status"], status(3, 2));
    let name = items(&client, PODS).await[0]["metadata"]["name"].as_str().unwrap().to_owned();
    client.delete(&format!("{PODS}/{name}")).await.ok();
    assert_eq!(items(&client, PODS).await.len(), 3, "a pod that is gone is replaced");
    client.patch(MERGE, &path, json!({"spec": {"replicas": 1}})).await.ok();
    assert_eq!(
        (items(&client, PODS).await.len(), &client.get(&path).await.ok()["status"]),
        (1, &status(1, 3))
    );
}

#[tokio::test(start_paused = true)]
async fn pods_are_adopted_and_released_by_their_labels() {
    let client = client();
    let mut first = pod("first", "a");
    let map =
        client.post("/api/v1/namespaces/default/configmaps", json!({"metadata": {"name": "m"}})).await.ok();
    first["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "m", "uid": map["metadata"]["uid"]}]);
    client.post(PODS, first).await.ok();
    client.post(CONTROLLERS, controller("a", 1)).await.ok();
    assert_eq!((owner_of(&client, "first").await, items(&client, PODS).await.len()), (json!("a"), 1));
    let label = |app: &str| json!({"metadata": {"labels": {"app": app}}});
    client.patch(MERGE, &format!("{PODS}/first"), label("free")).await.ok();
    assert_eq!(
        (owner_of(&client, "first").await, items(&client, PODS).await.len()),
        (Value::Null, 2),
        "released"
    );
    client.patch(MERGE, &format!("{PODS}/first"), label("a")).await.ok();
    assert_eq!(items(&client, PODS).await.len(), 1, "adopted again, and a surplus pod is deleted");

    // The selector of a ReplicationController can change.
    client.post(PODS, pod("other", "b")).await.ok();
    let changed =
        json!({"spec": {"selector": {"app": "b"}, "template": {"metadata": {"labels": {"app": "b"}}}}});
    client.patch(MERGE, &format!("{CONTROLLERS}/a"), changed).await.ok();
    assert_eq!(owner_of(&client, "other").await, "a");
    let pods = items(&client, PODS).await;
    assert!(pods.iter().all(|pod| pod["metadata"]["labels"]["app"] == "b"
        || pod["metadata"]["ownerReferences"][0]["kind"] != "ReplicationController"));

    let set = json!({"replicas": 1, "selector": {"matchLabels": {"app": "s"}}, "template": template(json!({"app": "s"}))});
    client.post(PODS, pod("of-set", "s")).await.ok();
    client.post(REPLICA_SETS, json!({"metadata": {"name": "s"}, "spec": set})).await.ok();
    assert_eq!(owner_of(&client, "of-set").await, "s");
    client.patch(MERGE, &format!("{PODS}/of-set"), label("t")).await.ok();
    assert_eq!(owner_of(&client, "of-set").await, Value::Null);
    assert_eq!(client.get(&format!("{REPLICA_SETS}/s")).await.ok()["status"]["terminatingReplicas"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_refused_pod_is_a_condition_until_it_is_created() {
    let client = client();
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    client.post(quotas, json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})).await.ok();
    client.post(CONTROLLERS, controller("a", 2)).await.ok();
    let path = format!("{CONTROLLERS}/a");
    let status = client.get(&path).await.ok()["status"].clone();
    let condition = &status["conditions"][0];
    assert_eq!(
        (&status["replicas"], &condition["type"], &condition["reason"]),
        (&json!(1), &json!("ReplicaFailure"), &json!("FailedCreate"))
    );
    assert!(
        condition["message"]
            .as_str()
            .unwrap()
            .contains("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")
    );
    client.patch(MERGE, &format!("{path}/scale"), json!({"spec": {"replicas": 1}})).await.ok();
    assert_eq!(client.get(&path).await.ok()["status"].get("conditions"), None);
    client.patch(MERGE, &format!("{path}/scale"), json!({"spec": {"replicas": 2}})).await.ok();
    client.delete(&format!("{quotas}/q")).await.ok();
    client.api.advance(std::time::Duration::from_secs(2));
    let status = client.get(&path).await.ok()["status"].clone();
    assert_eq!((&status["readyReplicas"], status.get("conditions")), (&json!(2), None));
}

#[tokio::test(start_paused = true)]
async fn pods_outlive_a_replication_controller_by_default() {
    let client = client();
    client.post(CONTROLLERS, controller("a", 2)).await.ok();
    client.delete(&format!("{CONTROLLERS}/a")).await.ok();
    client.get(&format!("{CONTROLLERS}/a")).await.refused(404, "NotFound");
    let pods = items(&client, PODS).await;
    assert!(pods.len() == 2 && pods.iter().all(|pod| pod["metadata"].get("ownerReferences").is_none()));
    // A controller of the same name adopts them.
    client.post(CONTROLLERS, controller("a", 2)).await.ok();
    assert_eq!(items(&client, PODS).await.len(), 2);
    let held = json!({"metadata": {"finalizers": ["x.test/hold"]}});
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    client.patch(MERGE, &format!("{PODS}/{name}"), held).await.ok();
    client.delete_with(&format!("{CONTROLLERS}/a"), json!({"propagationPolicy": "Foreground"})).await.ok();
    let waiting = client.get(&format!("{CONTROLLERS}/a")).await.ok();
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_eq!(items(&client, PODS).await.len(), 1, "none is created again");
    client.patch(MERGE, &format!("{PODS}/{name}"), json!({"metadata": {"finalizers": null}})).await.ok();
    client.get(&format!("{CONTROLLERS}/a")).await.refused(404, "NotFound");
    assert_eq!(items(&client, PODS).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn replica_sets_are_adopted_and_released_by_deployments() {
    let client = client();
    let deployment = |name: &str| {
        json!({"metadata": {"name": name}, "spec": {"replicas": 1, "minReadySeconds": 1,
            "selector": {"matchLabels": {"app": "d"}}, "template": template(json!({"app": "d"}))}})
    };
    client.post(DEPLOYMENTS, deployment("d")).await.ok();
    let first = items(&client, REPLICA_SETS).await.remove(0);
    let path = format!("{REPLICA_SETS}/{}", first["metadata"]["name"].as_str().unwrap());
    assert_eq!(first["spec"]["minReadySeconds"], 1);
    assert_eq!(first["status"].get("availableReplicas"), None);
    client.api.advance(std::time::Duration::from_secs(2));
    assert_eq!(client.get(&format!("{DEPLOYMENTS}/d")).await.ok()["status"]["availableReplicas"], 1);

    // A released ReplicaSet keeps its name, so the next one of the template has another.
    client.patch(MERGE, &path, json!({"metadata": {"labels": {"app": "x"}}})).await.ok();
    assert_eq!(client.get(&path).await.ok()["metadata"].get("ownerReferences"), None);
    assert_eq!(items(&client, REPLICA_SETS).await.len(), 2);
    assert_eq!(client.get(&format!("{DEPLOYMENTS}/d")).await.ok()["status"]["collisionCount"], 1);
    client.patch(MERGE, &path, json!({"metadata": {"labels": {"app": "d"}}})).await.ok();
    assert_eq!(client.get(&path).await.ok()["metadata"]["ownerReferences"][0]["name"], "d");

    client.delete_with(&format!("{DEPLOYMENTS}/d"), json!({"propagationPolicy": "Orphan"})).await.ok();
    let sets = items(&client, REPLICA_SETS).await;
    assert!(sets.len() == 2 && sets.iter().all(|set| set["metadata"].get("ownerReferences").is_none()));
    client.post(DEPLOYMENTS, deployment("again")).await.ok();
    let sets = items(&client, REPLICA_SETS).await;
    assert!(
        sets.len() == 2 && sets.iter().all(|set| set["metadata"]["ownerReferences"][0]["name"] == "again")
    );
}

/// The pods of a terminating namespace are not replaced.
#[tokio::test(start_paused = true)]
async fn controllers_create_nothing_in_a_terminating_namespace() {
    let client = client();
    client.post("/api/v1/namespaces", json!({"metadata": {"name": "doomed"}})).await.ok();
    let inside = |path: &str| path.replace("default", "doomed");
    let mut held = controller("a", 2);
    held["spec"]["template"]["metadata"]["finalizers"] = json!(["x.test/hold"]);
    client.post(&inside(CONTROLLERS), held).await.ok();
    client.delete("/api/v1/namespaces/doomed").await.ok();
    let pods = items(&client, &inside(PODS)).await;
    assert_eq!(pods.len(), 2);
    for pod in pods {
        let path = format!("{}/{}", inside(PODS), pod["metadata"]["name"].as_str().unwrap());
        client.patch(MERGE, &path, json!({"metadata": {"finalizers": null}})).await.ok();
    }
    client.get("/api/v1/namespaces/doomed").await.refused(404, "NotFound");
}

/// An owner that does not control a pod neither counts nor deletes it, and keeps it while another owner goes.
#[tokio::test(start_paused = true)]
async fn pods_of_another_owner_are_left_alone() {
    let client = client();
    client.post(CONTROLLERS, controller("a", 2)).await.ok();
    let other = client.post(CONTROLLERS, controller("other", 0)).await.ok();
    let pods = items(&client, PODS).await;
    let path = format!("{PODS}/{}", pods[0]["metadata"]["name"].as_str().unwrap());
    let mut owners = pods[0]["metadata"]["ownerReferences"].as_array().unwrap().clone();
    owners.push(json!({"apiVersion": "v1", "kind": "ReplicationController", "name": "other", "uid": other["metadata"]["uid"]}));
    client.patch(MERGE, &path, json!({"metadata": {"ownerReferences": owners}})).await.ok();
    assert_eq!(items(&client, PODS).await.len(), 2);
    client.delete_with(&format!("{CONTROLLERS}/a"), json!({"propagationPolicy": "Foreground"})).await.ok();
    client.get(&format!("{CONTROLLERS}/a")).await.refused(404, "NotFound");
    let left = items(&client, PODS).await;
    assert_eq!(
        left.iter().map(|pod| pod["metadata"]["name"].clone()).collect::<Vec<_>>(),
        [pods[0]["metadata"]["name"].clone()]
    );
    assert_eq!(left[0]["metadata"]["ownerReferences"][0]["name"], "other");
    assert_eq!(client.get(&format!("{CONTROLLERS}/other")).await.ok()["status"]["replicas"], 0);
}

/// A pod that loses the labels of its Job is replaced, and belongs to it again when they are back.
#[tokio::test(start_paused = true)]
async fn jobs_release_and_adopt_pods() {
    let client = client();
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let spec =
        json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["serve"]}]});
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": spec}}});
    client.api.kubelet().on_start(|_, _| kube_testserver::ContainerState::Running);
    client.post(jobs, job).await.ok();
    let first = items(&client, PODS).await.remove(0);
    let name = first["metadata"]["name"].as_str().unwrap();
    let label = "batch.kubernetes.io/controller-uid";
    client.api.advance(std::time::Duration::from_secs(1));
    client.patch(MERGE, &format!("{PODS}/{name}"), json!({"metadata": {"labels": {label: null}}})).await.ok();
    assert_eq!((owner_of(&client, name).await, items(&client, PODS).await.len()), (Value::Null, 2));
    let back = json!({"metadata": {"labels": {label: first["metadata"]["labels"][label]}}});
    client.patch(MERGE, &format!("{PODS}/{name}"), back).await.ok();
    assert_eq!(owner_of(&client, name).await, "j");
    assert_eq!(items(&client, PODS).await.len(), 1, "the younger one is too many");
    assert_eq!(client.get(&format!("{jobs}/j")).await.ok()["status"]["terminating"], 0);
}
