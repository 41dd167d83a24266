//! DaemonSets: a pod on each node that takes it, revisions and rollouts, as on Kubernetes 1.37.

use kube_testserver::{ApiServer, BuiltInController, ContainerState};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const SETS: &str = "/apis/apps/v1/namespaces/default/daemonsets";
const PODS: &str = "/api/v1/namespaces/default/pods";
const NODE: &str = "/api/v1/nodes/testserver";
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";

fn client() -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    TestClient { api: builder.service().unwrap() }
}

fn set(spec: Value) -> Value {
    let mut set = json!({"metadata": {"name": "ds"}, "spec": spec});
    set["spec"]["selector"] = json!({"matchLabels": {"app": "ds"}});
    set["spec"]["template"]["metadata"] = json!({"labels": {"app": "ds"}});
    set["spec"]["template"]["spec"]["containers"] = json!([{"name": "c", "image": "one"}]);
    set
}

impl TestClient {
    async fn daemons(&self) -> Vec<Value> {
        self.get(PODS).await.ok()["items"].as_array().unwrap().clone()
    }

    async fn daemon_status(&self) -> Value {
        self.get(&format!("{SETS}/ds")).await.ok()["status"].take()
    }

    async fn patch_daemon(&self, patch: Value) {
        self.patch(MERGE, &format!("{SETS}/ds"), patch).await.ok();
    }
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

fn status(number: u32, generation: u32) -> Value {
    let mut status = json!({"observedGeneration": generation, "desiredNumberScheduled": number, "currentNumberScheduled": number,
        "numberMisscheduled": 0, "numberReady": number});
    if number > 0 {
        status["numberAvailable"] = number.into();
        status["updatedNumberScheduled"] = number.into();
    }
    status
}

#[tokio::test]
async fn the_node_gets_one_pod() {
    let client = client();
    client.post(SETS, set(json!({}))).await.ok();
    assert_eq!(client.daemon_status().await, status(1, 1));
    let pods = client.daemons().await;
    let pod = &pods[0];
    assert_eq!(
        (&pod["spec"]["nodeName"], &pod["metadata"]["generateName"]),
        (&json!("testserver"), &json!("ds-"))
    );
    let revisions = client.get(REVISIONS).await.ok();
    let hash = &revisions["items"][0]["metadata"]["labels"]["controller-revision-hash"];
    assert_eq!(
        pod["metadata"]["labels"],
        json!({"app": "ds", "controller-revision-hash": hash, "pod-template-generation": "1"})
    );
    let keys: Vec<_> = pod["spec"]["tolerations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|known| known["key"].as_str().unwrap())
        .collect();
    assert_eq!(
        keys,
        ["not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"]
            .map(|key| format!("node.kubernetes.io/{key}"))
    );
    client.delete(&format!("{PODS}/{}", pod["metadata"]["name"].as_str().unwrap())).await.ok();
    assert_eq!(client.daemons().await.len(), 1, "a pod that is gone is replaced");
    client.delete(&format!("{SETS}/ds")).await.ok();
    assert_eq!((client.daemons().await.len(), &client.get(REVISIONS).await.ok()["items"]), (0, &json!([])));
}

#[tokio::test]
async fn labels_and_taints_of_nodes_decide() {
    let client = client();
    client.post(SETS, set(json!({"template": {"spec": {"nodeSelector": {"role": "x"}}}}))).await.ok();
    assert_eq!(client.daemon_status().await, status(0, 1));
    client.patch(MERGE, NODE, json!({"metadata": {"labels": {"role": "x"}}})).await.ok();
    assert_eq!(client.daemon_status().await, status(1, 1));
    let taint = |effect: &str| json!({"spec": {"taints": [{"key": "a", "value": "b", "effect": effect}]}});
    client.patch(MERGE, NODE, taint("NoSchedule")).await.ok();
    let kept = client.daemon_status().await;
    assert_eq!(
        (client.daemons().await.len(), &kept["desiredNumberScheduled"], &kept["numberMisscheduled"]),
        (1, &json!(0), &json!(1))
    );
    client.patch(MERGE, NODE, taint("NoExecute")).await.ok();
    assert_eq!((client.daemons().await.len(), client.daemon_status().await), (0, status(0, 1)));
    client.patch(MERGE, NODE, json!({"spec": {"taints": null}})).await.ok();
    assert_eq!(client.daemon_status().await, status(1, 1));
    client.patch(MERGE, NODE, json!({"spec": {"unschedulable": true}})).await.ok();
    assert_eq!(client.daemon_status().await, status(1, 1), "daemons tolerate it");
    client.patch(MERGE, NODE, json!({"metadata": {"labels": {"role": null}}})).await.ok();
    assert_eq!((client.daemons().await.len(), client.daemon_status().await), (0, status(0, 1)));
}

/// A node that nothing runs on: its pods are bound to it and stay pending.
#[tokio::test]
async fn a_new_node_gets_its_pod_and_takes_it_along() {
    let client = client();
    client.post(SETS, set(json!({}))).await.ok();
    client.post("/api/v1/nodes", json!({"metadata": {"name": "second"}})).await.ok();
    let nodes: Vec<_> = client.daemons().await.iter().map(|pod| pod["spec"]["nodeName"].clone()).collect();
    assert!(nodes.contains(&json!("second")) && nodes.len() == 2, "{nodes:?}");
    let waiting = client.daemon_status().await;
    assert_eq!(
        (&waiting["currentNumberScheduled"], &waiting["numberReady"], &waiting["numberUnavailable"]),
        (&json!(2), &json!(1), &json!(1))
    );
    client.delete("/api/v1/nodes/second").await.ok();
    assert_eq!((client.daemons().await.len(), client.daemon_status().await), (1, status(1, 1)));
}

#[tokio::test]
async fn rollouts_replace_pods_and_count_templates() {
    let client = client();
    client.post(SETS, set(json!({}))).await.ok();
    client.patch_daemon(image("two")).await;
    let pods = client.daemons().await;
    assert_eq!((pods.len(), &pods[0]["spec"]["containers"][0]["image"]), (1, &json!("two")));
    assert_eq!(pods[0]["metadata"]["labels"]["pod-template-generation"], "2");
    client.patch_daemon(image("one")).await;
    assert_eq!(client.daemon_status().await, status(1, 3));
    let revisions = client.get(REVISIONS).await.ok();
    let mut numbers: Vec<_> =
        revisions["items"].as_array().unwrap().iter().map(|r| r["revision"].as_i64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [2, 3], "the first revision is the newest again");
    client
        .patch_daemon(json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}))
        .await;
    client.patch_daemon(image("three")).await;
    let waiting = client.daemon_status().await;
    assert_eq!((&waiting["updatedNumberScheduled"], &waiting["numberReady"]), (&Value::Null, &json!(1)));
    let set = client.get(&format!("{SETS}/ds")).await.ok();
    assert_eq!(set["metadata"]["annotations"]["deprecated.daemonset.template.generation"], "4");
}

#[tokio::test]
async fn a_surge_keeps_the_old_pod_until_the_new_one_is_ready() {
    let client = client();
    client
        .post(SETS, set(json!({"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}})))
        .await
        .ok();
    client.api.kubelet().on_start(|_, pod| match pod["spec"]["containers"][0]["image"].as_str() {
        Some("bad") => ContainerState::Waiting("ImagePullBackOff".into()),
        _ => ContainerState::Running,
    });
    client.patch_daemon(image("bad")).await;
    assert_eq!(
        (client.daemons().await.len(), &client.daemon_status().await["numberAvailable"]),
        (2, &json!(1))
    );
    client.patch_daemon(image("two")).await;
    let pods = client.daemons().await;
    assert_eq!((pods.len(), &pods[0]["spec"]["containers"][0]["image"]), (1, &json!("two")));
}

#[tokio::test]
async fn a_failed_pod_is_replaced() {
    let client = client();
    client.post(SETS, set(json!({}))).await.ok();
    let first = client.daemons().await[0]["metadata"]["name"].as_str().unwrap().to_owned();
    client.patch(MERGE, &format!("{PODS}/{first}/status"), json!({"status": {"phase": "Failed"}})).await.ok();
    let pods = client.daemons().await;
    assert!(pods.len() == 1 && pods[0]["metadata"]["name"] != first.as_str(), "{first} is replaced");
}

#[tokio::test]
async fn a_pod_that_waits_for_a_node_stays() {
    let client = client();
    let pod = json!({"metadata": {"name": "gated", "labels": {"app": "ds"}},
        "spec": {"schedulingGates": [{"name": "x/y"}], "containers": [{"name": "c", "image": "i"}]}});
    client.post(PODS, pod).await.ok();
    client.post(SETS, set(json!({}))).await.ok();
    client.get(&format!("{PODS}/gated")).await.ok();
    assert_eq!(client.daemons().await.len(), 2);
}

#[tokio::test]
async fn a_selector_by_a_label_of_the_controller_makes_no_pods_for_ever() {
    let client = client();
    for label in ["controller-revision-hash", "pod-template-generation"] {
        let mut set = set(json!({}));
        set["metadata"]["name"] = label.into();
        set["spec"]["selector"]["matchLabels"] = json!({label: "x"});
        set["spec"]["template"]["metadata"]["labels"] = json!({label: "x"});
        client.post(SETS, set).await.ok();
    }
    assert!(client.daemons().await.len() < 3);
}
