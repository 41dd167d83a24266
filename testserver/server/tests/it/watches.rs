//! Watches: events, bookmarks, selectors, expired revisions.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::client::*;

fn seen(kind: &str, name: &str) -> (String, String) {
    (kind.into(), name.into())
}

#[tokio::test(start_paused = true)]
async fn changes_arrive_in_order_and_once() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("before")).await.ok();
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", client.api.resource_version()))
        .await;
    let mut everywhere = client.watch("/api/v1/configmaps?watch=true").await;
    let mut elsewhere = client.watch("/api/v1/namespaces/kube-system/configmaps?watch=true").await;
    assert_eq!(everywhere.event().await, seen("ADDED", "before"));

    let created = client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]), (&json!("ADDED"), &created));
    client.patch(MERGE, &format!("{CONFIG_MAPS}/a"), json!({"data": {"k": "w"}})).await.ok();
    client.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    let deleted_at = client.api.resource_version().to_string();
    assert_eq!(watch.event().await, seen("MODIFIED", "a"));
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["data"]["k"]), (&json!("DELETED"), &json!("w")));
    assert_eq!(event["object"]["metadata"]["resourceVersion"], deleted_at);
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        assert_eq!(everywhere.event().await, seen(kind, "a"));
    }
    assert!(watch.is_quiet().await && everywhere.is_quiet().await && elsewhere.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_at_its_resource_version() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let position = client.api.resource_version();
    client.post(CONFIG_MAPS, config_map("b")).await.ok();
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={position}")).await;
    assert_eq!(watch.event().await, seen("ADDED", "b"));
    assert!(watch.is_quiet().await);
    let mut present = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion=0")).await;
    assert_eq!((present.event().await, present.event().await), (seen("ADDED", "a"), seen("ADDED", "b")));
    let mut one = client.watch(&format!("{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Db")).await;
    assert_eq!(one.event().await, seen("ADDED", "b"));
    // `watch` is ignored on the path of an object.
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/b?watch=1")).await.ok()["kind"], "ConfigMap");
}

#[tokio::test(start_paused = true)]
async fn an_expired_resource_version_is_an_error_event() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let old = client.api.resource_version();
    client.post(CONFIG_MAPS, config_map("b")).await.ok();
    let mut current = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", client.api.resource_version()))
        .await;
    assert!(current.is_quiet().await);
    client.api.compact();
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={old}")).await;
    let event = watch.next().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["code"], &event["object"]["reason"]),
        (&json!("ERROR"), &json!(410), &json!("Expired"))
    );
    assert_eq!(watch.next().await, None);
    client.post(CONFIG_MAPS, config_map("c")).await.ok();
    assert_eq!(current.event().await, seen("ADDED", "c"), "a watch that is up to date goes on");
}

#[tokio::test(start_paused = true)]
async fn a_watch_behind_the_history_is_ended() {
    let client = TestClient { api: kube_testserver::ApiServer::builder().history(5).service().unwrap() };
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", client.api.resource_version()))
        .await;
    for i in 0..10 {
        client.post(CONFIG_MAPS, config_map(&format!("c{i}"))).await.ok();
    }
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_a_marked_bookmark() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let now = client.api.resource_version().to_string();
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(watch.event().await, seen("ADDED", "a"));
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    let metadata = &bookmark["object"]["metadata"];
    assert_eq!(
        (&metadata["resourceVersion"], &metadata["annotations"]["k8s.io/initial-events-end"]),
        (&json!(now), &json!("true"))
    );
    client.post(CONFIG_MAPS, config_map("b")).await.ok();
    assert_eq!(watch.event().await, seen("ADDED", "b"));

    let message =
        client.get(&format!("{CONFIG_MAPS}?watch=1&sendInitialEvents=true")).await.refused(422, "Invalid");
    assert!(message.contains("requires setting resourceVersionMatch to NotOlderThan"), "{message}");
    let future = format!("{CONFIG_MAPS}?{query}&resourceVersion=9999");
    let mut watch = client.watch(&future).await;
    let error = watch.next().await.unwrap();
    assert_eq!((&error["type"], &error["object"]["code"]), (&json!("ERROR"), &json!(504)));
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_and_the_timeout_follow_the_clock() {
    let client = TestClient::new();
    let start = Instant::now();
    let secret = async |name: &str| {
        let path = "/api/v1/namespaces/default/secrets";
        client.post(path, json!({"metadata": {"name": name}})).await.ok();
    };
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", client.api.resource_version());
    let mut watch = client.watch(&format!("{path}&timeoutSeconds=100&allowWatchBookmarks=true")).await;
    let mut plain = client.watch(&format!("{path}&timeoutSeconds=100")).await;
    let mut idle = client.watch(&format!("{path}&timeoutSeconds=30&allowWatchBookmarks=true")).await;
    assert!(idle.next().await.is_none(), "no bookmark at the end, because nothing has changed");
    secret("a").await;
    let bookmark = watch.next().await.unwrap();
    assert_eq!((&bookmark["type"], start.elapsed()), (&json!("BOOKMARK"), Duration::from_secs(60)));
    assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], client.api.resource_version().to_string());
    secret("b").await;
    assert_eq!(watch.next().await.unwrap()["type"], "BOOKMARK", "one before the end");
    assert_eq!((watch.next().await, plain.next().await), (None, None));
    assert_eq!(start.elapsed(), Duration::from_secs(100));
}

#[tokio::test(start_paused = true)]
async fn objects_enter_and_leave_a_selection() {
    let client = TestClient::new();
    let now = client.api.resource_version();
    let mut watch =
        client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={now}&labelSelector=app%3Dweb")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let label = async |value: &str| {
        client.patch(MERGE, &path, json!({"metadata": {"labels": {"app": value}}})).await.ok()
    };
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    label("web").await;
    assert_eq!(watch.event().await, seen("ADDED", "a"));
    client.patch(MERGE, &path, json!({"data": {"k": "w"}})).await.ok();
    assert_eq!(watch.event().await, seen("MODIFIED", "a"));
    let out = label("db").await;
    let event = watch.next().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["metadata"]["labels"]["app"]),
        (&json!("DELETED"), &json!("web"))
    );
    assert_eq!(event["object"]["metadata"]["resourceVersion"], out["metadata"]["resourceVersion"]);
    client.delete(&path).await.ok();
    assert!(watch.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn field_selectors_work_on_custom_fields_too() {
    let client = with_widgets().await;
    let mut watch = client.watch(&format!("{WIDGETS}?watch=1&fieldSelector=spec.color%3Dblue")).await;
    client.post(WIDGETS, widget("a")).await.ok();
    client.patch(MERGE, &format!("{WIDGETS}/a"), json!({"spec": {"color": "blue"}})).await.ok();
    assert_eq!(watch.event().await, seen("ADDED", "a"));
    client
        .get(&format!("{WIDGETS}?watch=1&fieldSelector=spec.replicas%3D1"))
        .await
        .refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn watches_end_on_request_and_with_their_resource() {
    let client = with_widgets().await;
    let mut cut = client.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    client.api.end_watches();
    assert_eq!(cut.next().await, None);
    let mut watch = client.watch(&format!("{WIDGETS}?watch=1")).await;
    assert!(watch.is_quiet().await);
    client.delete(&format!("{CRDS}/widgets.rig.test")).await.ok();
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn metadata_watches_send_metadata_only() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let mut watch = client.watch_as(accept, &format!("{CONFIG_MAPS}?watch=1")).await;
    let object = watch.next().await.unwrap()["object"].clone();
    assert_eq!((&object["kind"], object.get("data")), (&json!("PartialObjectMetadata"), None));
    assert_eq!(object["metadata"]["name"], "a");
}
