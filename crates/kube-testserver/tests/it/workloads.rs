//! Pods that run, and the controllers that make them.

use kube_testserver::{ApiServer, BuiltInController, ContainerState};
use serde_json::{Value, json};

use crate::rig::{MERGE, Rig};

const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

fn rig() -> Rig {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    Rig { api: builder.service().unwrap() }
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

async fn count(rig: &Rig, path: &str) -> usize {
    rig.get(path).await.ok()["items"].as_array().unwrap().len()
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let mut conditions = object["status"]["conditions"].as_array().unwrap().iter();
    conditions.find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

#[tokio::test]
async fn a_pod_is_scheduled_and_runs() {
    let rig = rig();
    let path = format!("{PODS}?watch=1&resourceVersion={}", rig.api.resource_version());
    let mut watch = rig.watch(&path).await;
    let created = rig.post(PODS, pod("web")).await.ok();
    assert_eq!(created["status"]["phase"], "Pending");
    let steps = [watch.next().await.unwrap(), watch.next().await.unwrap(), watch.next().await.unwrap()];
    let seen = steps.each_ref().map(|event| {
        (&event["type"], &event["object"]["spec"]["nodeName"], &event["object"]["status"]["phase"])
    });
    let (added, modified, node) = (&json!("ADDED"), &json!("MODIFIED"), &json!("testserver"));
    let (pending, running) = (&json!("Pending"), &json!("Running"));
    assert_eq!(seen, [(added, &Value::Null, pending), (modified, node, pending), (modified, node, running)]);
    let pod = rig.get(&format!("{PODS}/web")).await.ok();
    assert_eq!(condition(&pod, "Ready")["status"], "True");
    assert!(pod["status"]["podIP"].is_string() && pod["status"]["containerStatuses"][0]["ready"] == true);
    let node = rig.get("/api/v1/nodes/testserver").await.ok();
    assert_eq!(condition(&node, "Ready")["status"], "True");
}

#[tokio::test]
async fn another_scheduler_has_its_pods_to_itself() {
    let rig = rig();
    let mut own = pod("mine");
    own["spec"]["schedulerName"] = "mine".into();
    rig.post(PODS, own).await.ok();
    assert_eq!(rig.get(&format!("{PODS}/mine")).await.ok()["status"]["phase"], "Pending");
    let binding = json!({"metadata": {"name": "mine"}, "target": {"kind": "Node", "name": "testserver"}});
    rig.post(&format!("{PODS}/mine/binding"), binding).await.ok();
    assert_eq!(rig.get(&format!("{PODS}/mine")).await.ok()["status"]["phase"], "Running");
}

#[tokio::test]
async fn a_pod_ends_gracefully_and_once_its_finalizers_are_gone() {
    let rig = rig();
    let mut held = pod("held");
    held["metadata"]["finalizers"] = json!(["test/hold"]);
    rig.post(PODS, held).await.ok();
    let path = format!("{PODS}?watch=1&resourceVersion={}", rig.api.resource_version());
    let mut watch = rig.watch(&path).await;
    let deleted = rig.delete(&format!("{PODS}/held")).await.ok();
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], 30);
    let event = watch.next().await.unwrap();
    assert_eq!(event["object"]["metadata"]["deletionGracePeriodSeconds"], 30);
    let event = watch.next().await.unwrap();
    assert_eq!(event["object"]["metadata"]["deletionGracePeriodSeconds"], 0, "the kubelet is done");
    rig.patch(MERGE, &format!("{PODS}/held"), json!({"metadata": {"finalizers": null}})).await.ok();
    assert_eq!(watch.event().await.0, "DELETED");
    rig.get(&format!("{PODS}/held")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn without_a_kubelet_a_pod_on_a_node_stays_until_it_is_forced() {
    let rig = Rig::new();
    rig.post("/api/v1/nodes", json!({"metadata": {"name": "real"}})).await.ok();
    for (name, node) in [("on-node", "real"), ("nowhere", "gone")] {
        let mut pod = pod(name);
        pod["spec"]["nodeName"] = node.into();
        rig.post(PODS, pod).await.ok();
    }
    rig.delete(&format!("{PODS}/nowhere")).await.ok();
    rig.get(&format!("{PODS}/nowhere")).await.refused(404, "NotFound");
    rig.delete(&format!("{PODS}/on-node")).await.ok();
    let shorter = rig.delete(&format!("{PODS}/on-node?gracePeriodSeconds=5")).await.ok();
    assert_eq!(shorter["metadata"]["deletionGracePeriodSeconds"], 5);
    let longer = rig.delete_with(&format!("{PODS}/on-node"), json!({"gracePeriodSeconds": 60})).await.ok();
    assert_eq!(longer["metadata"]["deletionGracePeriodSeconds"], 5);
    rig.delete_with(&format!("{PODS}/on-node"), json!({"gracePeriodSeconds": 0})).await.ok();
    rig.get(&format!("{PODS}/on-node")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn a_deployment_has_its_pods_and_says_so() {
    let rig = rig();
    rig.post(DEPLOYMENTS, deployment(3, "one")).await.ok();
    let path = format!("{DEPLOYMENTS}/web");
    let web = rig.get(&path).await.ok();
    assert_eq!(
        (&web["status"]["availableReplicas"], &web["status"]["observedGeneration"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(condition(&web, "Available")["status"], "True");
    assert_eq!(condition(&web, "Progressing")["reason"], "NewReplicaSetAvailable");
    assert_eq!((count(&rig, PODS).await, count(&rig, REPLICA_SETS).await), (3, 1));

    rig.patch(MERGE, &format!("{path}/scale"), json!({"spec": {"replicas": 5}})).await.ok();
    assert_eq!(count(&rig, PODS).await, 5);
    let pods = rig.get(PODS).await.ok();
    let first = pods["items"][0]["metadata"]["name"].as_str().unwrap();
    rig.delete(&format!("{PODS}/{first}")).await.ok();
    assert_eq!(count(&rig, PODS).await, 5, "a pod that is gone is replaced");

    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "two"}]}}}});
    rig.patch(MERGE, &path, image).await.ok();
    let web = rig.get(&path).await.ok();
    assert_eq!((&web["status"]["updatedReplicas"], &web["status"]["replicas"]), (&json!(5), &json!(5)));
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
    let pods = rig.get(PODS).await.ok();
    assert!(
        pods["items"].as_array().unwrap().iter().all(|pod| pod["spec"]["containers"][0]["image"] == "two")
    );

    rig.delete(&path).await.ok();
    assert_eq!((count(&rig, PODS).await, count(&rig, REPLICA_SETS).await), (0, 0));
}

#[tokio::test]
async fn a_version_that_does_not_start_leaves_the_old_one_running() {
    let rig = rig();
    rig.post(DEPLOYMENTS, deployment(4, "good")).await.ok();
    rig.api.kubelet().on_start(|_, pod| match pod["spec"]["containers"][0]["image"].as_str() {
        Some("bad") => ContainerState::Waiting("ImagePullBackOff".into()),
        _ => ContainerState::Running,
    });
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "bad"}]}}}});
    rig.patch(MERGE, &format!("{DEPLOYMENTS}/web"), image).await.ok();
    let web = rig.get(&format!("{DEPLOYMENTS}/web")).await.ok();
    assert_eq!(web["status"]["availableReplicas"], 3);
    assert_eq!(condition(&web, "Available")["status"], "True");
    assert_eq!(condition(&web, "Progressing")["reason"], "ReplicaSetUpdated");
    let pods = rig.get(PODS).await.ok();
    let waits = |pod: &&Value| {
        pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    };
    assert_eq!(pods["items"].as_array().unwrap().iter().filter(waits).count(), 2);
}

#[tokio::test]
async fn jobs_complete_fail_and_log() {
    let rig = rig();
    rig.post(JOBS, job(json!({"completions": 3, "parallelism": 2}))).await.ok();
    let once = rig.get(&format!("{JOBS}/once")).await.ok();
    assert_eq!(
        (&once["status"]["succeeded"], &condition(&once, "Complete")["status"]),
        (&json!(3), &json!("True"))
    );
    rig.delete(&format!("{JOBS}/once?propagationPolicy=Background")).await.ok();
    assert_eq!(count(&rig, PODS).await, 0);

    let command = json!([{"name": "main", "image": "i", "command": ["sh", "-c", "echo no luck; exit 3"]}]);
    rig.post(JOBS, job(json!({"backoffLimit": 1, "template": {"spec": {"containers": command}}}))).await.ok();
    let once = rig.get(&format!("{JOBS}/once")).await.ok();
    assert_eq!(
        (&once["status"]["failed"], &condition(&once, "Failed")["reason"]),
        (&json!(2), &json!("BackoffLimitExceeded"))
    );
    let pods = rig.get(PODS).await.ok();
    let name = pods["items"][0]["metadata"]["name"].as_str().unwrap();
    assert_eq!(rig.get(&format!("{PODS}/{name}/log")).await.ok(), json!("no luck\n"));
    let state = &pods["items"][0]["status"]["containerStatuses"][0]["state"];
    assert_eq!(state["terminated"]["exitCode"], 3);
}

#[tokio::test]
async fn nothing_happens_where_nothing_was_switched_on() {
    let rig = Rig::new();
    rig.post(DEPLOYMENTS, deployment(3, "one")).await.ok();
    rig.post(PODS, pod("web")).await.ok();
    assert_eq!(
        (count(&rig, PODS).await, count(&rig, REPLICA_SETS).await, count(&rig, "/api/v1/nodes").await),
        (1, 0, 0)
    );
    assert_eq!(rig.get(&format!("{PODS}/web")).await.ok()["status"]["phase"], "Pending");
}

#[tokio::test]
async fn pods_without_a_controller_are_adopted_by_who_selects_them() {
    let rig = rig();
    let orphan = |name: &str| {
        let mut orphan = pod(name);
        orphan["metadata"]["labels"] = json!({"app": "web"});
        orphan
    };
    rig.post(PODS, orphan("first")).await.ok();
    let spec = deployment(2, "i")["spec"].clone();
    let set = rig.post(REPLICA_SETS, json!({"metadata": {"name": "web"}, "spec": spec})).await;
    let mut set = set.ok();
    let first = rig.get(&format!("{PODS}/first")).await.ok();
    assert_eq!(first["metadata"]["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
    assert_eq!(count(&rig, PODS).await, 2, "one is made, one was there");
    // One more than wanted is taken in, and then somebody has to go.
    rig.post(PODS, orphan("second")).await.ok();
    assert_eq!(count(&rig, PODS).await, 2);
    set = rig.get(&format!("{REPLICA_SETS}/web")).await.ok();
    assert_eq!(set["status"]["replicas"], 2);
}
