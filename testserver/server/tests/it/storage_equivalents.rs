//! Storage equivalents: kinds with two names or versions and one storage.

use serde_json::json;

use crate::client::{MERGE, TestClient};

const CORE: &str = "/api/v1/namespaces/default/events";
const NEW: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

#[tokio::test]
async fn objects_are_read_watched_and_selected_as_either_kind() {
    let client = TestClient::new();
    let mut watch = client.watch(&format!("{NEW}?watch=1")).await;
    let about = json!({"kind": "Pod", "name": "p", "namespace": "default"});
    let old = json!({"metadata": {"name": "a"}, "involvedObject": about, "reason": "R", "message": "m", "type": "Normal"});
    let made = client.post(CORE, old).await.ok();
    let shown = client.get(&format!("{NEW}/a")).await.ok();
    assert_eq!(
        (&shown["apiVersion"], &shown["note"], &shown["regarding"]),
        (&json!("events.k8s.io/v1"), &json!("m"), &about)
    );
    assert_eq!(shown["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    assert!(
        shown["message"].is_null()
            && shown["involvedObject"].is_null()
            && shown["reportingController"].is_null()
    );
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]), (&json!("ADDED"), &shown));

    let new = json!({"metadata": {"name": "b"}, "regarding": about, "reason": "R", "note": "n", "type": "Warning", "action": "A",
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "x.io/c", "reportingInstance": "i"});
    client.post(NEW, new).await.ok();
    let shown = client.get(&format!("{CORE}/b")).await.ok();
    assert_eq!(
        (&shown["message"], &shown["reportingComponent"], &shown["source"]),
        (&json!("n"), &json!("x.io/c"), &json!({}))
    );
    let named = async |path: String| {
        let list = client.get(&path).await.ok();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named(format!("{CORE}?fieldSelector=involvedObject.name=p")).await, ["a", "b"]);
    assert_eq!(
        named(format!("{NEW}?fieldSelector=regarding.name=p,reportingController=x.io/c")).await,
        ["b"]
    );
    client.get(&format!("{NEW}?fieldSelector=involvedObject.name=p")).await.refused(400, "BadRequest");

    client.patch(MERGE, &format!("{NEW}/a"), json!({"note": "changed"})).await.ok();
    assert_eq!(client.get(&format!("{CORE}/a")).await.ok()["message"], "changed");
    client.delete(&format!("{NEW}/a")).await.ok();
    client.get(&format!("{CORE}/a")).await.refused(404, "NotFound");
}

/// Objects are stored once, and found by either name.
#[tokio::test]
async fn snapshots_and_data_directories_hold_events_once() {
    let dir = tempfile::tempdir().unwrap();
    let open =
        || TestClient { api: kube_testserver::TestServer::builder().data(dir.path()).service().unwrap() };
    let client = open();
    let event = json!({"metadata": {"name": "a"}, "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "R",
        "note": "n", "type": "Normal", "action": "A", "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "x.io/c", "reportingInstance": "i"});
    client.post(NEW, event).await.ok();
    client
        .post(CORE, json!({"metadata": {"name": "b"}, "involvedObject": {"namespace": "default"}}))
        .await
        .ok();
    client.patch(MERGE, &format!("{CORE}/a"), json!({"count": 2})).await.ok();
    client.delete(&format!("{NEW}/b")).await.ok();
    let snapshot = client.api.snapshot();
    assert_eq!(snapshot.matches("kind: Event").count(), 1);
    drop(client);
    let again = open();
    assert_eq!(again.api.snapshot(), snapshot);
    assert_eq!(again.get(&format!("{NEW}/a")).await.ok()["deprecatedCount"], 2);
    let copy = TestClient::new();
    copy.api.restore(snapshot.as_str()).unwrap();
    assert_eq!(copy.get(&format!("{NEW}/a")).await.ok(), again.get(&format!("{NEW}/a")).await.ok());
}

/// Objects of several versions are stored once, also after a restore.
#[tokio::test]
async fn snapshots_and_data_directories_hold_one_version() {
    const OLD: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    const NEWER: &str = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    let dir = tempfile::tempdir().unwrap();
    let open =
        || TestClient { api: kube_testserver::TestServer::builder().data(dir.path()).service().unwrap() };
    let client = open();
    let spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50});
    client.post(OLD, json!({"metadata": {"name": "a"}, "spec": spec})).await.ok();
    let snapshot = client.api.snapshot();
    assert_eq!(snapshot.matches("kind: HorizontalPodAutoscaler").count(), 1);
    assert!(snapshot.contains("apiVersion: autoscaling/v2"), "{snapshot}");
    drop(client);
    let again = open();
    assert_eq!(again.api.snapshot(), snapshot);
    let copy = TestClient::new();
    copy.api.restore(snapshot.as_str()).unwrap();
    for client in [again, copy] {
        let target =
            &client.get(&format!("{NEWER}/a")).await.ok()["spec"]["metrics"][0]["resource"]["target"];
        assert_eq!(target["averageUtilization"], 50);
        assert_eq!(client.get(&format!("{OLD}/a")).await.ok()["spec"]["targetCPUUtilizationPercentage"], 50);
    }
}

/// Beta versions, of a kind that no available genuine server has.
#[tokio::test]
async fn a_beta_claim_is_served_as_v1() {
    let path = |version: &str| format!("/apis/resource.k8s.io/{version}/namespaces/default/resourceclaims");
    let api = kube_testserver::ApiServer::builder().runtime_config("api/beta=true").service().unwrap();
    let client = TestClient { api };
    let requests = json!([{"name": "r", "deviceClassName": "c", "allocationMode": "All"}]);
    let claim = json!({"metadata": {"name": "a"}, "spec": {"devices": {"requests": requests}}});
    client.post(&path("v1beta1"), claim).await.ok();
    for version in ["v1", "v1beta2"] {
        let shown = client.get(&format!("{}/a", path(version))).await.ok();
        assert_eq!(shown["apiVersion"], format!("resource.k8s.io/{version}"));
        let exactly = &shown["spec"]["devices"]["requests"][0]["exactly"];
        assert_eq!(*exactly, json!({"deviceClassName": "c", "allocationMode": "All"}));
    }
    let shown = client.get(&format!("{}/a", path("v1beta1"))).await.ok();
    assert_eq!(shown["spec"]["devices"]["requests"], requests);
}
