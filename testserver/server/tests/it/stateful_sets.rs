//! StatefulSets: ordered pods, claims, revisions and rollouts, as on Kubernetes 1.37.

use std::time::Duration;

use kube_testserver::{ApiServer, BuiltInController, ContainerState};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const PODS: &str = "/api/v1/namespaces/default/pods";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";

fn client() -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    TestClient { api: builder.service().unwrap() }
}

fn set(replicas: u32, spec: Value) -> Value {
    let mut set = json!({"metadata": {"name": "db"}, "spec": spec});
    set["spec"]["replicas"] = replicas.into();
    set["spec"]["serviceName"] = "db".into();
    set["spec"]["selector"] = json!({"matchLabels": {"app": "db"}});
    set["spec"]["template"] = json!({"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "one"}]}});
    set
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

impl TestClient {
    async fn names(&self, path: &str) -> Vec<String> {
        let list = self.get(path).await.ok();
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["metadata"]["name"].as_str().unwrap().into())
            .collect()
    }

    async fn patch_set(&self, patch: Value) -> Value {
        self.patch(MERGE, &format!("{SETS}/db"), patch).await.ok();
        self.status().await
    }

    async fn status(&self) -> Value {
        self.get(&format!("{SETS}/db")).await.ok()["status"].take()
    }

    async fn images(&self) -> Vec<String> {
        let list = self.get(PODS).await.ok();
        let pods = list["items"].as_array().unwrap();
        pods.iter().map(|pod| pod["spec"]["containers"][0]["image"].as_str().unwrap().into()).collect()
    }
}

#[tokio::test]
async fn pods_have_their_identity_and_come_in_order() {
    let client = client();
    let path = format!("{PODS}?watch=1&resourceVersion={}", client.api.resource_version());
    let mut watch = client.watch(&path).await;
    client.post(SETS, set(3, json!({}))).await.ok();
    let mut seen = Vec::new();
    while seen.len() < 9 {
        let event = watch.next().await.unwrap();
        let ready = event["object"]["status"]["phase"] == "Running";
        seen.push((event["object"]["metadata"]["name"].as_str().unwrap().to_owned(), ready));
    }
    let of = |name: &str| [(name.to_owned(), false), (name.to_owned(), false), (name.to_owned(), true)];
    assert_eq!(seen, [of("db-0"), of("db-1"), of("db-2")].concat());
    let status = client.status().await;
    let revision = status["updateRevision"].as_str().unwrap().to_owned();
    assert_eq!(
        status,
        json!({"observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3,
        "currentReplicas": 3, "updatedReplicas": 3, "collisionCount": 0, "currentRevision": revision, "updateRevision": revision})
    );
    let first = client.get(&format!("{PODS}/db-0")).await.ok();
    assert_eq!(
        first["metadata"]["labels"],
        json!({"app": "db", "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": revision, "statefulset.kubernetes.io/pod-name": "db-0"})
    );
    assert_eq!((&first["spec"]["hostname"], &first["spec"]["subdomain"]), (&json!("db-0"), &json!("db")));
    assert_eq!(client.names(REVISIONS).await, [revision]);
    client.delete(&format!("{PODS}/db-1")).await.ok();
    assert_eq!(client.names(PODS).await, ["db-0", "db-1", "db-2"], "a pod that is gone comes back");
    client.delete(&format!("{SETS}/db")).await.ok();
    assert_eq!((client.names(PODS).await.len(), client.names(REVISIONS).await.len()), (0, 0));
}

#[tokio::test]
async fn an_unready_pod_halts_the_next_ones() {
    let client = client();
    client.api.kubelet().on_start(|container, _| match container.pod.as_str() {
        "db-1" => ContainerState::Waiting("ImagePullBackOff".into()),
        _ => ContainerState::Running,
    });
    client.post(SETS, set(3, json!({}))).await.ok();
    assert_eq!(client.names(PODS).await, ["db-0", "db-1"]);
    client.delete(&format!("{SETS}/db")).await.ok();
    client
        .post(SETS, set(3, json!({"podManagementPolicy": "Parallel", "ordinals": {"start": 1}})))
        .await
        .ok();
    assert_eq!(client.names(PODS).await, ["db-1", "db-2", "db-3"]);
    assert_eq!(client.status().await["readyReplicas"], 2);
}

#[tokio::test]
async fn rollouts_go_down_to_the_partition_and_back() {
    let client = client();
    client.post(SETS, set(3, json!({}))).await.ok();
    let first = client.status().await["updateRevision"].clone();
    let path = format!("{PODS}?watch=1&resourceVersion={}", client.api.resource_version());
    let mut watch = client.watch(&path).await;
    let canary = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}}});
    client.patch_set(canary).await;
    let half = client.patch_set(image("two")).await;
    assert_eq!(client.images().await, ["one", "one", "two"]);
    assert_eq!(
        (&half["currentReplicas"], &half["updatedReplicas"], &half["currentRevision"]),
        (&json!(2), &json!(1), &first)
    );
    assert_ne!(half["updateRevision"], first);
    client.delete(&format!("{PODS}/db-0")).await.ok();
    assert_eq!(
        client.images().await,
        ["one", "one", "two"],
        "below the partition a pod comes back as it was"
    );
    let whole =
        client.patch_set(json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})).await;
    assert_eq!(client.images().await, ["two"; 3]);
    assert_eq!((&whole["currentReplicas"], &whole["currentRevision"]), (&json!(3), &half["updateRevision"]));
    let mut deleted = Vec::new();
    while deleted.len() < 4 {
        let event = watch.next().await.unwrap();
        if event["type"] == "DELETED" {
            deleted.push(event["object"]["metadata"]["name"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(deleted, ["db-2", "db-0", "db-1", "db-0"]);
    // A former template is its former revision, with the greatest number.
    let back = client.patch_set(image("one")).await;
    assert_eq!((&back["currentRevision"], client.names(REVISIONS).await.len()), (&first, 2));
    let revision = client.get(&format!("{REVISIONS}/{}", first.as_str().unwrap())).await.ok();
    assert_eq!(
        (&revision["revision"], &revision["data"]["spec"]["template"]["$patch"]),
        (&json!(3), &json!("replace"))
    );
}

#[tokio::test]
async fn on_delete_waits_for_the_deletion_of_each_pod() {
    let client = client();
    client.post(SETS, set(2, json!({"updateStrategy": {"type": "OnDelete"}}))).await.ok();
    let waiting = client.patch_set(image("two")).await;
    assert_eq!(
        (client.images().await, &waiting["updatedReplicas"]),
        (vec!["one".to_owned(); 2], &Value::Null)
    );
    client.delete(&format!("{PODS}/db-1")).await.ok();
    let status = client.status().await;
    assert_eq!(client.images().await, ["one", "two"]);
    assert_eq!((&status["currentReplicas"], &status["updatedReplicas"]), (&json!(1), &json!(1)));
    assert_ne!(status["currentRevision"], status["updateRevision"]);
    client.delete(&format!("{PODS}/db-0")).await.ok();
    let status = client.status().await;
    assert_eq!(
        (&status["currentReplicas"], &status["currentRevision"]),
        (&json!(2), &status["updateRevision"])
    );
}

#[tokio::test]
async fn claims_follow_the_retention_policy() {
    for (policy, scaled, deleted) in [
        (json!({}), 2, 2),
        (json!({"whenScaled": "Delete"}), 1, 1),
        (json!({"whenDeleted": "Delete"}), 2, 0),
        (json!({"whenDeleted": "Delete", "whenScaled": "Delete"}), 1, 0),
    ] {
        let client = client();
        let template = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
        let spec =
            json!({"volumeClaimTemplates": [template], "persistentVolumeClaimRetentionPolicy": policy});
        client.post(SETS, set(2, spec)).await.ok();
        assert_eq!(client.names(CLAIMS).await, ["data-db-0", "data-db-1"]);
        let claim = client.get(&format!("{CLAIMS}/data-db-0")).await.ok();
        assert_eq!(
            (&claim["metadata"]["labels"]["app"], &claim["spec"]["volumeMode"]),
            (&json!("db"), &json!("Filesystem"))
        );
        let pod = client.get(&format!("{PODS}/db-1")).await.ok();
        assert_eq!(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-db-1");
        assert_eq!(client.status().await["readyReplicas"], 2);
        client.patch_set(json!({"spec": {"replicas": 1}})).await;
        assert_eq!(
            (client.names(CLAIMS).await.len(), client.names(PODS).await.len()),
            (scaled, 1),
            "{policy}"
        );
        client.delete(&format!("{SETS}/db")).await.ok();
        assert_eq!(client.names(CLAIMS).await.len(), deleted, "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn pods_count_as_available_after_their_minimum_time() {
    let client = client();
    client.post(SETS, set(2, json!({"minReadySeconds": 5}))).await.ok();
    assert_eq!((client.names(PODS).await.len(), &client.status().await["availableReplicas"]), (1, &json!(0)));
    client.api.advance(Duration::from_secs(5));
    assert_eq!((client.names(PODS).await.len(), &client.status().await["availableReplicas"]), (2, &json!(1)));
    client.api.advance(Duration::from_secs(5));
    assert_eq!(client.status().await["availableReplicas"], 2);
}

#[tokio::test]
async fn a_collision_of_names_ends_with_another_name() {
    let client = client();
    client.post(SETS, set(1, json!({}))).await.ok();
    let taken = client.status().await["updateRevision"].as_str().unwrap().to_owned();
    client.delete(&format!("{SETS}/db")).await.ok();
    client.post(REVISIONS, json!({"metadata": {"name": taken}, "data": {}, "revision": 7})).await.ok();
    client.post(SETS, set(1, json!({}))).await.ok();
    let status = client.status().await;
    assert_eq!((&status["collisionCount"], &status["readyReplicas"]), (&json!(1), &json!(1)));
    assert_ne!(status["updateRevision"], taken);
}

#[tokio::test]
async fn only_pods_of_its_name_are_adopted() {
    let client = client();
    for name in ["db-0", "other"] {
        let pod = json!({"metadata": {"name": name, "labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "mine"}]}});
        client.post(PODS, pod).await.ok();
    }
    client.post(SETS, set(1, json!({"updateStrategy": {"type": "OnDelete"}}))).await.ok();
    let owners = |name: &str| format!("{PODS}/{name}");
    assert_eq!(
        client.get(&owners("db-0")).await.ok()["metadata"]["ownerReferences"][0]["kind"],
        "StatefulSet"
    );
    assert!(client.get(&owners("other")).await.ok()["metadata"]["ownerReferences"].is_null());
    assert_eq!(client.images().await, ["mine", "mine"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_somebody_else_is_awaited() {
    let client = client();
    let foreign =
        json!({"metadata": {"name": "db-0"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    client.post(PODS, foreign).await.ok();
    client.post(SETS, set(1, json!({}))).await.ok();
    assert_eq!(client.status().await["readyReplicas"], Value::Null);
    client.delete(&format!("{PODS}/db-0")).await.ok();
    client.api.advance(Duration::from_secs(2));
    assert_eq!(client.status().await["readyReplicas"], 1);
}

/// Their label with the revision has more than 63 characters.
#[tokio::test(start_paused = true)]
async fn pods_of_a_set_with_a_long_name_are_refused() {
    let builder = ApiServer::builder().with(BuiltInController::Events).with(BuiltInController::Workloads);
    let client = TestClient { api: builder.service().unwrap() };
    let (mut set, name) = (set(1, json!({})), "d".repeat(60));
    set["metadata"]["name"] = name.as_str().into();
    client.post(SETS, set).await.ok();
    assert!(client.names(PODS).await.is_empty());
    let revision = client.names(REVISIONS).await.remove(0);
    let why = format!("metadata.labels: Invalid value: {revision:?}: must be no more than 63 bytes");
    let refusal =
        format!("create Pod {name}-0 in StatefulSet {name} failed error: Pod \"{name}-0\" is invalid: {why}");
    let events = client.get("/api/v1/namespaces/default/events").await.ok();
    assert_eq!(events["items"][0]["reason"], "FailedCreate");
    assert_eq!(events["items"][0]["message"], refusal);
}

#[tokio::test(start_paused = true)]
async fn a_large_set_grows_over_several_requests() {
    let client = client();
    client.post(SETS, set(250, json!({}))).await.ok();
    let first = client.names(PODS).await.len();
    assert!((20..250).contains(&first), "{first}");
    client.api.advance(Duration::from_secs(2));
    client.api.advance(Duration::from_secs(2));
    assert_eq!(client.status().await["readyReplicas"], 250);
}

#[tokio::test(start_paused = true)]
async fn odd_labels_and_numbers_do_not_keep_the_controller_busy() {
    let client = client();
    let mut hash = set(1, json!({}));
    hash["metadata"]["name"] = "hash".into();
    hash["spec"]["selector"]["matchLabels"] = json!({"controller.kubernetes.io/hash": "x"});
    hash["spec"]["template"]["metadata"]["labels"] = json!({"controller.kubernetes.io/hash": "x"});
    client.post(SETS, hash).await.ok();
    let last =
        json!({"metadata": {"name": "last", "labels": {"app": "db"}}, "data": {}, "revision": i64::MAX});
    client.post(REVISIONS, last).await.ok();
    client.post(SETS, set(1, json!({}))).await.ok();
    assert_eq!(client.status().await["readyReplicas"], 1);
}
