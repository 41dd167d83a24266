//! Running pods, and the workload controllers.

use kube_testserver::{ApiServer, BuiltInController, ContainerState};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

fn client() -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    TestClient { api: builder.service().unwrap() }
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "i"}]}})
}

fn deployment(replicas: u32, image: &str) -> Value {
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}});
    let spec =
        json!({"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    json!({"metadata": {"name": "web"}, "spec": spec})
}

fn job(spec: Value) -> Value {
    let mut spec = spec;
    spec["template"]["spec"]["restartPolicy"] = "Never".into();
    if spec["template"]["spec"]["containers"].is_null() {
        spec["template"]["spec"]["containers"] = json!([{"name": "main", "image": "i"}]);
    }
    json!({"metadata": {"name": "once"}, "spec": spec})
}

async fn count(client: &TestClient, path: &str) -> usize {
    client.get(path).await.ok()["items"].as_array().unwrap().len()
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let mut conditions = object["status"]["conditions"].as_array().unwrap().iter();
    conditions.find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

#[tokio::test]
async fn a_pod_is_scheduled_and_runs() {
    let client = client();
    let path = format!("{PODS}?watch=1&resourceVersion={}", client.api.resource_version());
    let mut watch = client.watch(&path).await;
    let created = client.post(PODS, pod("web")).await.ok();
    assert_eq!(created["status"]["phase"], "Pending");
    let steps = [watch.next().await.unwrap(), watch.next().await.unwrap(), watch.next().await.unwrap()];
    let seen = steps.each_ref().map(|event| {
        (&event["type"], &event["object"]["spec"]["nodeName"], &event["object"]["status"]["phase"])
    });
    let (added, modified, node) = (&json!("ADDED"), &json!("MODIFIED"), &json!("testserver"));
    let (pending, running) = (&json!("Pending"), &json!("Running"));
    assert_eq!(seen, [(added, &Value::Null, pending), (modified, node, pending), (modified, node, running)]);
    let pod = client.get(&format!("{PODS}/web")).await.ok();
    assert_eq!(condition(&pod, "Ready")["status"], "True");
    assert!(pod["status"]["podIP"].is_string() && pod["status"]["containerStatuses"][0]["ready"] == true);
    let node = client.get("/api/v1/nodes/testserver").await.ok();
    assert_eq!(condition(&node, "Ready")["status"], "True");
}

#[tokio::test]
async fn pods_of_another_scheduler_are_left_alone() {
    let client = client();
    let mut own = pod("mine");
    own["spec"]["schedulerName"] = "mine".into();
    client.post(PODS, own).await.ok();
    assert_eq!(client.get(&format!("{PODS}/mine")).await.ok()["status"]["phase"], "Pending");
    let binding = json!({"metadata": {"name": "mine"}, "target": {"kind": "Node", "name": "testserver"}});
    client.post(&format!("{PODS}/mine/binding"), binding).await.ok();
    assert_eq!(client.get(&format!("{PODS}/mine")).await.ok()["status"]["phase"], "Running");
}

#[tokio::test]
async fn a_pod_is_deleted_gracefully_after_its_finalizers() {
    let client = client();
    let mut held = pod("held");
    held["metadata"]["finalizers"] = json!(["test/hold"]);
    client.post(PODS, held).await.ok();
    let path = format!("{PODS}?watch=1&resourceVersion={}", client.api.resource_version());
    let mut watch = client.watch(&path).await;
    let deleted = client.delete(&format!("{PODS}/held")).await.ok();
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], 30);
    let event = watch.next().await.unwrap();
    assert_eq!(event["object"]["metadata"]["deletionGracePeriodSeconds"], 30);
    let event = watch.next().await.unwrap();
    assert_eq!(event["object"]["metadata"]["deletionGracePeriodSeconds"], 0, "the kubelet is done");
    client.patch(MERGE, &format!("{PODS}/held"), json!({"metadata": {"finalizers": null}})).await.ok();
    assert_eq!(watch.event().await.0, "DELETED");
    client.get(&format!("{PODS}/held")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn without_a_kubelet_a_scheduled_pod_needs_a_forced_deletion() {
    let client = TestClient::new();
    client.post("/api/v1/nodes", json!({"metadata": {"name": "real"}})).await.ok();
    for (name, node) in [("on-node", "real"), ("nowhere", "gone")] {
        let mut pod = pod(name);
        pod["spec"]["nodeName"] = node.into();
        client.post(PODS, pod).await.ok();
    }
    client.delete(&format!("{PODS}/nowhere")).await.ok();
    client.get(&format!("{PODS}/nowhere")).await.refused(404, "NotFound");
    client.delete(&format!("{PODS}/on-node")).await.ok();
    let shorter = client.delete(&format!("{PODS}/on-node?gracePeriodSeconds=5")).await.ok();
    assert_eq!(shorter["metadata"]["deletionGracePeriodSeconds"], 5);
    let longer = client.delete_with(&format!("{PODS}/on-node"), json!({"gracePeriodSeconds": 60})).await.ok();
    assert_eq!(longer["metadata"]["deletionGracePeriodSeconds"], 5);
    client.delete_with(&format!("{PODS}/on-node"), json!({"gracePeriodSeconds": 0})).await.ok();
    client.get(&format!("{PODS}/on-node")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn a_deployment_creates_pods_and_reports_them() {
    let client = client();
    client.post(DEPLOYMENTS, deployment(3, "one")).await.ok();
    let path = format!("{DEPLOYMENTS}/web");
    let web = client.get(&path).await.ok();
    assert_eq!(
        (&web["status"]["availableReplicas"], &web["status"]["observedGeneration"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(condition(&web, "Available")["status"], "True");
    assert_eq!(condition(&web, "Progressing")["reason"], "NewReplicaSetAvailable");
    assert_eq!((count(&client, PODS).await, count(&client, REPLICA_SETS).await), (3, 1));

    client.patch(MERGE, &format!("{path}/scale"), json!({"spec": {"replicas": 5}})).await.ok();
    assert_eq!(count(&client, PODS).await, 5);
    let pods = client.get(PODS).await.ok();
    let first = pods["items"][0]["metadata"]["name"].as_str().unwrap();
    client.delete(&format!("{PODS}/{first}")).await.ok();
    assert_eq!(count(&client, PODS).await, 5, "a pod that is gone is replaced");

    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "two"}]}}}});
    client.patch(MERGE, &path, image).await.ok();
    let web = client.get(&path).await.ok();
    assert_eq!((&web["status"]["updatedReplicas"], &web["status"]["replicas"]), (&json!(5), &json!(5)));
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
    let pods = client.get(PODS).await.ok();
    assert!(
        pods["items"].as_array().unwrap().iter().all(|pod| pod["spec"]["containers"][0]["image"] == "two")
    );

    client.delete(&path).await.ok();
    assert_eq!((count(&client, PODS).await, count(&client, REPLICA_SETS).await), (0, 0));
}

#[tokio::test]
async fn odd_labels_and_shares_do_not_keep_the_controller_busy() {
    let client = client();
    let mut hash = deployment(1, "one");
    hash["spec"]["selector"]["matchLabels"] = json!({"pod-template-hash": "x"});
    hash["spec"]["template"]["metadata"]["labels"] = json!({"pod-template-hash": "x"});
    client.post(DEPLOYMENTS, hash).await.ok();
    let mut surge = deployment(2, "one");
    surge["metadata"]["name"] = "surge".into();
    surge["spec"]["strategy"] = json!({"rollingUpdate": {"maxSurge": "9223372036854775807%"}});
    client.post(DEPLOYMENTS, surge).await.ok();
    assert_eq!(client.get(&format!("{DEPLOYMENTS}/surge")).await.ok()["status"]["readyReplicas"], 2);
}

#[tokio::test]
async fn a_failing_rollout_leaves_the_old_pods_running() {
    let client = client();
    client.post(DEPLOYMENTS, deployment(4, "good")).await.ok();
    client.api.kubelet().on_start(|_, pod| match pod["spec"]["containers"][0]["image"].as_str() {
        Some("bad") => ContainerState::Waiting("ImagePullBackOff".into()),
        _ => ContainerState::Running,
    });
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "bad"}]}}}});
    client.patch(MERGE, &format!("{DEPLOYMENTS}/web"), image).await.ok();
    let web = client.get(&format!("{DEPLOYMENTS}/web")).await.ok();
    assert_eq!(web["status"]["availableReplicas"], 3);
    assert_eq!(condition(&web, "Available")["status"], "True");
    assert_eq!(condition(&web, "Progressing")["reason"], "ReplicaSetUpdated");
    let pods = client.get(PODS).await.ok();
    let waits = |pod: &&Value| {
        pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    };
    assert_eq!(pods["items"].as_array().unwrap().iter().filter(waits).count(), 2);
}

#[tokio::test]
async fn jobs_complete_fail_and_log() {
    let client = client();
    client.post(JOBS, job(json!({"completions": 3, "parallelism": 2}))).await.ok();
    let once = client.get(&format!("{JOBS}/once")).await.ok();
    assert_eq!(
        (&once["status"]["succeeded"], &condition(&once, "Complete")["status"]),
        (&json!(3), &json!("True"))
    );
    client.delete(&format!("{JOBS}/once?propagationPolicy=Background")).await.ok();
    assert_eq!(count(&client, PODS).await, 0);

    let command = json!([{"name": "main", "image": "i", "command": ["sh", "-c", "echo no luck; exit 3"]}]);
    client
        .post(JOBS, job(json!({"backoffLimit": 1, "template": {"spec": {"containers": command}}})))
        .await
        .ok();
    let once = client.get(&format!("{JOBS}/once")).await.ok();
    assert_eq!(
        (&once["status"]["failed"], &condition(&once, "Failed")["reason"]),
        (&json!(2), &json!("BackoffLimitExceeded"))
    );
    let pods = client.get(PODS).await.ok();
    let name = pods["items"][0]["metadata"]["name"].as_str().unwrap();
    assert_eq!(client.get(&format!("{PODS}/{name}/log")).await.ok(), json!("no luck\n"));
    let state = &pods["items"][0]["status"]["containerStatuses"][0]["state"];
    assert_eq!(state["terminated"]["exitCode"], 3);
}

#[tokio::test]
async fn controllers_are_off_by_default() {
    let client = TestClient::new();
    client.post(DEPLOYMENTS, deployment(3, "one")).await.ok();
    client.post(PODS, pod("web")).await.ok();
    assert_eq!(
        (
            count(&client, PODS).await,
            count(&client, REPLICA_SETS).await,
            count(&client, "/api/v1/nodes").await
        ),
        (1, 0, 0)
    );
    assert_eq!(client.get(&format!("{PODS}/web")).await.ok()["status"]["phase"], "Pending");
}

#[tokio::test]
async fn unowned_pods_are_adopted_by_matching_replica_sets() {
    let client = client();
    let orphan = |name: &str| {
        let mut orphan = pod(name);
        orphan["metadata"]["labels"] = json!({"app": "web"});
        orphan
    };
    client.post(PODS, orphan("first")).await.ok();
    let spec = deployment(2, "i")["spec"].clone();
    let set = client.post(REPLICA_SETS, json!({"metadata": {"name": "web"}, "spec": spec})).await;
    let mut set = set.ok();
    let first = client.get(&format!("{PODS}/first")).await.ok();
    assert_eq!(first["metadata"]["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
    assert_eq!(count(&client, PODS).await, 2, "one is made, one was there");
    // A surplus pod is adopted, and then one is deleted.
    client.post(PODS, orphan("second")).await.ok();
    assert_eq!(count(&client, PODS).await, 2);
    set = client.get(&format!("{REPLICA_SETS}/web")).await.ok();
    assert_eq!(set["status"]["replicas"], 2);
}

/// Pods end with the code of an annotation, and tests of Helm succeed.
#[tokio::test(start_paused = true)]
async fn annotated_pods_end() {
    let client = client();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |name: &str, annotations: Value, command: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "i", "command": command}, {"name": "b", "image": "i"}]}})
    };
    for (name, annotations, command, phase) in [
        ("runs", json!({}), json!(["serve"]), "Running"),
        ("ends", json!({"kube-testserver/exit-code": "0"}), json!(["serve"]), "Succeeded"),
        (
            "fails",
            json!({"kube-testserver/exit-code": "0", "kube-testserver/exit-code.b": "3"}),
            json!(["serve"]),
            "Failed",
        ),
        ("test", json!({"helm.sh/hook": "test"}), json!(["wget", "web:80"]), "Succeeded"),
        ("bad-test", json!({"helm.sh/hook": "test"}), json!(["sh", "-c", "exit 1"]), "Failed"),
    ] {
        client.post(pods, pod(name, annotations, command)).await.ok();
        let found = client.get(&format!("{pods}/{name}")).await.ok();
        let ended = cfg!(feature = "shell") || name != "bad-test";
        assert!(!ended || found["status"]["phase"] == phase, "{name}: {}", found["status"]);
    }
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"backoffLimit": 0, "template": {"metadata": {"annotations": {"kube-testserver/exit-code": "1"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "i", "command": ["serve"]}]}}}});
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    client.post(jobs, job.clone()).await.ok();
    assert_eq!(client.get(&format!("{jobs}/j")).await.ok()["status"]["failed"], 1);
    job["metadata"]["name"] = "k".into();
    job["spec"]["template"]["metadata"]["annotations"]["kube-testserver/exit-code"] = "0".into();
    client.post(jobs, job).await.ok();
    assert_eq!(client.get(&format!("{jobs}/k")).await.ok()["status"]["succeeded"], 1);
}
