//! Initial objects, snapshots and restoring them.

use std::{fs, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_testserver::{ApiServer, BuiltInController, StartError, TestServer};
use serde_json::json;

use crate::client::*;

fn error(result: Result<ApiServer, StartError>) -> String {
    let error = result.unwrap_err();
    std::error::Error::source(&error).unwrap().to_string()
}

#[tokio::test]
async fn a_server_starts_with_its_initial_objects() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("b.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: file, namespace: shop}\n---\n",
    )
    .unwrap();
    fs::write(dir.path().join("c.json"), config_map("json").to_string()).unwrap();
    fs::write(dir.path().join("notes.txt"), "not read").unwrap();
    let list =
        json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "item"}}]});
    let mut typed = ConfigMap::default();
    typed.metadata.name = Some("typed".into());
    let mut widget = widget("w");
    widget["status"] = json!({"phase": "Ready"});
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "shop"}})).unwrap();

    let api =
        TestServer::builder().with_objects(widget).with_crds(widgets()).service().map(drop).unwrap_err();
    assert!(std::error::Error::source(&api).unwrap().to_string().contains("is its CRD among the objects?"));

    let mut with_status = crate::client::widget("w");
    with_status["status"] = json!({"phase": "Ready"});
    let api = TestServer::builder()
        .with_crds(widgets())
        .with_objects([namespace])
        .with_objects(dir.path())
        .with_objects(list)
        .with_objects(vec![typed])
        .with_objects(with_status)
        .service()
        .unwrap();
    let client = TestClient { api };
    client.get("/api/v1/namespaces/shop/configmaps/file").await.ok();
    for name in ["json", "item", "typed"] {
        client.get(&format!("{CONFIG_MAPS}/{name}")).await.ok();
    }
    assert_eq!(client.get(&format!("{WIDGETS}/w")).await.ok()["status"]["phase"], "Ready");
    // Loading again replaces objects.
    client.api.load(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "typed"}, "data": {"x": "y"}})).unwrap();
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/typed")).await.ok()["data"]["x"], "y");
}

#[test]
fn load_errors_name_the_object() {
    let start = |text: &str| error(TestServer::builder().with_objects(text).service());
    let with = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n";
    assert_eq!(
        start(&format!("{with}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: A_b}}\n"))
            .split(" a lower")
            .next()
            .unwrap(),
        "the YAML text, document 2: ConfigMap A_b: ConfigMap \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\":"
    );
    assert_eq!(
        start(&format!("{with}kind: X\nmetadata: {{name: b}}\n")),
        "the YAML text, document 2: X b: expected an object with apiVersion and kind"
    );
    assert!(start("a: [").starts_with("the YAML text is not YAML: "));
    assert!(
        start(&format!("{with}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: b}}\ndatta: {{}}\n"))
            .contains("unknown field \"datta\"")
    );
    let missing = std::path::Path::new("/no/such/file.yaml");
    assert_eq!(
        error(TestServer::builder().with_objects(missing).service()),
        "cannot read /no/such/file.yaml"
    );
    assert!(
        error(TestServer::builder().with_snapshot("apiVersion: v1\nkind: Thing\n").service())
            .contains("document 1")
    );
}

#[tokio::test]
async fn a_snapshot_holds_everything() {
    let client = with_widgets().await;
    client.post(WIDGETS, widget("w")).await.ok();
    let mut config = config_map("odd");
    let long = format!("  two  spaces {} tail \n\n", "word  ".repeat(200));
    config["data"] = json!({"yes": "no", "n": "1.0", "empty": "", "lines": "a\n\n b\n", "quote": "\"'\\", "t": "2026-01-01", "long": long});
    client.post(CONFIG_MAPS, config).await.ok();
    let snapshot = client.api.snapshot();
    let copy = TestClient { api: TestServer::builder().with_snapshot(snapshot.clone()).service().unwrap() };
    assert_eq!(copy.api.snapshot(), snapshot);
    assert_eq!(copy.api.resource_version(), client.api.resource_version());
    for path in [format!("{WIDGETS}/w"), format!("{CONFIG_MAPS}/odd")] {
        assert_eq!(copy.get(&path).await.ok(), client.get(&path).await.ok());
    }
    copy.post(WIDGETS, widget("x")).await.ok();
    assert_eq!(client.get(&format!("{WIDGETS}/x")).await.code, 404, "servers share nothing");

    copy.api.restore("kind: nonsense").unwrap_err();
    copy.get(&format!("{WIDGETS}/x")).await.ok();
}

#[tokio::test(start_paused = true)]
async fn built_in_controllers_can_be_switched_off() {
    let off = TestServer::builder()
        .without(BuiltInController::GarbageCollection)
        .without(BuiltInController::NamespaceDeletion);
    let client = TestClient { api: off.service().unwrap() };
    let mut orphan = config_map("orphan");
    orphan["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "u"}]);
    client.post(CONFIG_MAPS, orphan).await.ok();
    client.get(&format!("{CONFIG_MAPS}/orphan")).await.ok();
    client.post("/api/v1/namespaces", json!({"metadata": {"name": "left"}})).await.ok();
    client.delete("/api/v1/namespaces/left").await.ok();
    assert_eq!(client.get("/api/v1/namespaces/left").await.ok()["status"]["phase"], "Terminating");
}

#[tokio::test(start_paused = true)]
async fn the_clock_can_be_advanced() {
    let client = TestClient::new();
    let first = client.post(CONFIG_MAPS, config_map("a")).await.ok()["metadata"]["creationTimestamp"].clone();
    let mut watch = client
        .watch(&format!(
            "{CONFIG_MAPS}?watch=1&timeoutSeconds=200&allowWatchBookmarks=1&resourceVersion={}",
            client.api.resource_version()
        ))
        .await;
    client.api.advance(Duration::from_secs(61));
    assert_eq!(watch.event().await.0, "BOOKMARK");
    client.api.advance(Duration::from_secs(150));
    assert!(watch.next().await.is_none(), "the end, without a bookmark that says nothing new");
    client.api.advance(Duration::from_secs(24 * 3600));
    let second =
        client.post(CONFIG_MAPS, config_map("b")).await.ok()["metadata"]["creationTimestamp"].clone();
    let time = |value: &serde_json::Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(time(&second).duration_since(time(&first)).as_secs() >= 24 * 3600 + 211);
}

/// The service that every cluster has: clients and tests find the server by it.
#[tokio::test(start_paused = true)]
async fn a_new_cluster_has_the_service_of_the_server() {
    let client = TestClient::new();
    let service = client.get("/api/v1/namespaces/default/services/kubernetes").await.ok();
    assert_eq!(service["metadata"]["labels"], json!({"component": "apiserver", "provider": "kubernetes"}));
    assert_eq!(
        (&service["spec"]["clusterIP"], &service["spec"]["type"]),
        (&json!("10.0.0.1"), &json!("ClusterIP"))
    );
    assert_eq!(service["spec"]["ports"][0]["port"], 443);
}

/// As of another cluster: restored objects are not validated, and later writes judge what they change.
#[tokio::test]
async fn a_restored_service_of_another_range_can_be_changed() {
    let foreign = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default, uid: u}\n\
        spec: {type: NodePort, clusterIP: 172.20.0.10, clusterIPs: [172.20.0.10], ipFamilies: [IPv4, IPv6], \
        ipFamilyPolicy: RequireDualStack, ports: [{port: 80, nodePort: 20000, protocol: TCP, targetPort: 80}]}\n";
    let client = TestClient::new();
    client.api.restore(format!("{}---\n{foreign}", client.api.snapshot())).unwrap();
    let path = "/api/v1/namespaces/default/services/web";
    let label = json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["x.test/hold"]}});
    client.patch(MERGE, path, label.clone()).await.ok();
    client.patch(MERGE, &format!("{path}/status"), label).await.ok();
    let service =
        client.patch(MERGE, path, json!({"spec": {"ports": [{"port": 81, "nodePort": 20000}]}})).await.ok();
    assert_eq!(service["spec"]["clusterIPs"], json!(["172.20.0.10"]));
    let other =
        json!({"metadata": {"name": "other"}, "spec": {"clusterIP": "172.20.0.11", "ports": [{"port": 80}]}});
    client.post("/api/v1/namespaces/default/services", other).await.refused(422, "Invalid");
}

#[tokio::test]
async fn services_get_addresses_of_the_range_and_of_ready_service_cidrs() {
    let api = ApiServer::builder().service_range("172.20.0.0/30").service().unwrap();
    let client = TestClient { api };
    let path = "/api/v1/namespaces/default/services";
    let service = |name: &str| json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}});
    let server = client.get(&format!("{path}/kubernetes")).await.ok();
    assert_eq!(server["spec"]["clusterIP"], "172.20.0.1");
    assert_eq!(client.post(path, service("a")).await.ok()["spec"]["clusterIPs"], json!(["172.20.0.2"]));
    assert!(client.post(path, service("b")).await.refused(422, "Invalid").contains("range is full"));

    let cidrs = "/apis/networking.k8s.io/v1/servicecidrs";
    client.post(cidrs, json!({"metadata": {"name": "more"}, "spec": {"cidrs": ["10.9.0.0/30"]}})).await.ok();
    client.post(path, service("b")).await.refused(422, "Invalid");
    let ready = json!([{"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    client.patch(MERGE, &format!("{cidrs}/more/status"), json!({"status": {"conditions": ready}})).await.ok();
    let address = client.post(path, service("b")).await.ok()["spec"]["clusterIP"].clone();
    assert!(address.as_str().unwrap().starts_with("10.9.0."), "{address}");

    let refused = ApiServer::builder().service_range("fd00::/108").service().unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("expected a range of IPv4 addresses such as 10.0.0.0/16, found \"fd00::/108\"")
    );
}
