//! Responses as tables.

use serde_json::{Value, json};

use crate::client::*;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

fn headers(table: &Value) -> Vec<&str> {
    table["columnDefinitions"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn tables_have_the_columns_of_their_kind() {
    let client = with_widgets().await;
    client.post(WIDGETS, widget("a")).await.ok();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let table = client.get_as(TABLE, CONFIG_MAPS).await.ok();
    assert_eq!((&table["kind"], headers(&table)), (&json!("Table"), vec!["Name", "Data", "Age"]));
    assert_eq!(table["rows"][0]["cells"], json!(["a", 1, "0s"]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let table = client.get_as(TABLE, &format!("{WIDGETS}/a")).await.ok();
    assert_eq!((headers(&table), &table["rows"][0]["cells"]), (vec!["Name", "Color"], &json!(["a", "red"])));
    assert_eq!(
        headers(&client.get_as(TABLE, CRDS).await.ok()),
        ["Name", "Scope", "Versions", "Created At", "Group", "Kind", "ShortNames", "Established"]
    );
    assert_eq!(
        headers(&client.get_as(TABLE, "/api/v1/pods").await.ok())[..4],
        ["Name", "Ready", "Status", "Restarts"]
    );
    let bare = client.get_as(TABLE, &format!("{CONFIG_MAPS}?includeObject=None")).await.ok();
    assert_eq!(bare["rows"][0].get("object"), None);
}

#[tokio::test(start_paused = true)]
async fn what_is_only_posted_has_no_table() {
    let only = TABLE.trim_end_matches(",application/json");
    let client = TestClient::new();
    client
        .post(
            "/api/v1/namespaces/default/pods",
            json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
        )
        .await
        .ok();
    let post = async |path: &str, accept: &str, body: Value| {
        let headers = [("accept", accept), ("content-type", "application/json")];
        client.send("POST", path, &headers, body.to_string()).await
    };
    let pods = "/api/v1/namespaces/default/pods/a";
    let target = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}});
    let spec = json!({"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}});
    for (path, body) in [
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", spec),
        ("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({})),
        ("/api/v1/namespaces/default/bindings", target.clone()),
        (&format!("{pods}/binding"), target),
        (&format!("{pods}/eviction"), json!({"metadata": {"name": "a"}})),
    ] {
        let message = post(path, only, body.clone()).await.refused(406, "NotAcceptable");
        assert_eq!(
            message,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        );
        assert!(client.get(pods).await.ok()["spec"].get("nodeName").is_none(), "{path} did something");
        if path.ends_with("reviews") {
            assert_eq!(post(path, TABLE, body).await.code, 201, "{path}");
        }
    }
    let config = post(CONFIG_MAPS, only, config_map("a")).await;
    assert_eq!((config.code.as_u16(), &config.body["kind"]), (201, &json!("Table")));
}

#[tokio::test(start_paused = true)]
async fn a_table_watch_sends_rows() {
    let client = with_widgets().await;
    let mut watch = client.watch_as(TABLE, &format!("{WIDGETS}?watch=1")).await;
    client.post(WIDGETS, widget("a")).await.ok();
    let event = watch.next().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["rows"][0]["cells"]),
        (&json!("ADDED"), &json!(["a", "red"]))
    );
}

#[tokio::test]
async fn events_have_the_same_row_under_both_names() {
    const NEW: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
    const CORE: &str = "/api/v1/namespaces/default/events";
    let client = TestClient::new();
    let event = json!({"metadata": {"name": "b"}, "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "R", "note": "n", "type": "Normal", "action": "A", "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "x.io/c", "reportingInstance": "i"});
    client.post(NEW, event).await.ok();
    let cells = async |path: &str| client.get_as(TABLE, path).await.ok()["rows"][0]["cells"].clone();
    assert!(cells(NEW).await.to_string().contains("pod/p"));
    assert_eq!(cells(NEW).await, cells(CORE).await);
}
