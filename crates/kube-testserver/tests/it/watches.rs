use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::rig::*;

fn seen(kind: &str, name: &str) -> (String, String) {
    (kind.into(), name.into())
}

#[tokio::test(start_paused = true)]
async fn changes_arrive_in_order_and_once() {
    let rig = Rig::new();
    rig.post(CONFIG_MAPS, config_map("before")).await.ok();
    let mut watch =
        rig.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", rig.api.resource_version())).await;
    let mut everywhere = rig.watch("/api/v1/configmaps?watch=true").await;
    let mut elsewhere = rig.watch("/api/v1/namespaces/kube-system/configmaps?watch=true").await;
    assert_eq!(everywhere.event().await, seen("ADDED", "before"));

    let created = rig.post(CONFIG_MAPS, config_map("a")).await.ok();
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]), (&json!("ADDED"), &created));
    rig.patch(MERGE, &format!("{CONFIG_MAPS}/a"), json!({"data": {"k": "w"}})).await.ok();
    rig.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    let deleted_at = rig.api.resource_version().to_string();
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
async fn a_watch_resumes_where_it_is_told_to() {
    let rig = Rig::new();
    rig.post(CONFIG_MAPS, config_map("a")).await.ok();
    let position = rig.api.resource_version();
    rig.post(CONFIG_MAPS, config_map("b")).await.ok();
    let mut watch = rig.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={position}")).await;
    assert_eq!(watch.event().await, seen("ADDED", "b"));
    assert!(watch.is_quiet().await);
    let mut present = rig.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion=0")).await;
    assert_eq!((present.event().await, present.event().await), (seen("ADDED", "a"), seen("ADDED", "b")));
    let mut one = rig.watch(&format!("{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Db")).await;
    assert_eq!(one.event().await, seen("ADDED", "b"));
    // The path of an object has no watch: it answers as ever.
    assert_eq!(rig.get(&format!("{CONFIG_MAPS}/b?watch=1")).await.ok()["kind"], "ConfigMap");
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_is_expired_as_an_event() {
    let rig = Rig::new();
    rig.post(CONFIG_MAPS, config_map("a")).await.ok();
    let old = rig.api.resource_version();
    rig.post(CONFIG_MAPS, config_map("b")).await.ok();
    let mut current =
        rig.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", rig.api.resource_version())).await;
    assert!(current.is_quiet().await);
    rig.api.compact();
    let mut watch = rig.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={old}")).await;
    let event = watch.next().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["code"], &event["object"]["reason"]),
        (&json!("ERROR"), &json!(410), &json!("Expired"))
    );
    assert_eq!(watch.next().await, None);
    rig.post(CONFIG_MAPS, config_map("c")).await.ok();
    assert_eq!(current.event().await, seen("ADDED", "c"), "a watch that is up to date goes on");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_lags_behind_the_history_is_cut() {
    let rig = Rig { api: kube_testserver::ApiServer::builder().history(5).service().unwrap() };
    let mut watch =
        rig.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", rig.api.resource_version())).await;
    for i in 0..10 {
        rig.post(CONFIG_MAPS, config_map(&format!("c{i}"))).await.ok();
    }
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_a_marked_bookmark() {
    let rig = Rig::new();
    rig.post(CONFIG_MAPS, config_map("a")).await.ok();
    let now = rig.api.resource_version().to_string();
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = rig.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(watch.event().await, seen("ADDED", "a"));
    let bookmark = watch.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    let metadata = &bookmark["object"]["metadata"];
    assert_eq!(
        (&metadata["resourceVersion"], &metadata["annotations"]["k8s.io/initial-events-end"]),
        (&json!(now), &json!("true"))
    );
    rig.post(CONFIG_MAPS, config_map("b")).await.ok();
    assert_eq!(watch.event().await, seen("ADDED", "b"));

    let message =
        rig.get(&format!("{CONFIG_MAPS}?watch=1&sendInitialEvents=true")).await.refused(422, "Invalid");
    assert!(message.contains("requires setting resourceVersionMatch to NotOlderThan"), "{message}");
    let future = format!("{CONFIG_MAPS}?{query}&resourceVersion=9999");
    rig.get(&future).await.refused(504, "Timeout");
}

#[tokio::test(start_paused = true)]
async fn bookmarks_and_the_timeout_follow_the_clock() {
    let rig = Rig::new();
    let start = Instant::now();
    let path =
        format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=100&resourceVersion={}", rig.api.resource_version());
    let mut watch = rig.watch(&format!("{path}&allowWatchBookmarks=true")).await;
    let mut plain = rig.watch(&path).await;
    rig.post("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "s"}})).await.ok();
    let bookmark = watch.next().await.unwrap();
    assert_eq!((&bookmark["type"], start.elapsed()), (&json!("BOOKMARK"), Duration::from_secs(60)));
    assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], rig.api.resource_version().to_string());
    assert_eq!(watch.next().await.unwrap()["type"], "BOOKMARK", "one before the end");
    assert_eq!((watch.next().await, plain.next().await), (None, None));
    assert_eq!(start.elapsed(), Duration::from_secs(100));
}

#[tokio::test(start_paused = true)]
async fn objects_come_into_a_selection_and_leave_it() {
    let rig = Rig::new();
    let now = rig.api.resource_version();
    let mut watch =
        rig.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={now}&labelSelector=app%3Dweb")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let label = async |value: &str| {
        rig.patch(MERGE, &path, json!({"metadata": {"labels": {"app": value}}})).await.ok()
    };
    rig.post(CONFIG_MAPS, config_map("a")).await.ok();
    label("web").await;
    assert_eq!(watch.event().await, seen("ADDED", "a"));
    rig.patch(MERGE, &path, json!({"data": {"k": "w"}})).await.ok();
    assert_eq!(watch.event().await, seen("MODIFIED", "a"));
    let out = label("db").await;
    let event = watch.next().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["metadata"]["labels"]["app"]),
        (&json!("DELETED"), &json!("web"))
    );
    assert_eq!(event["object"]["metadata"]["resourceVersion"], out["metadata"]["resourceVersion"]);
    rig.delete(&path).await.ok();
    assert!(watch.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn field_selectors_work_on_custom_fields_too() {
    let rig = with_widgets().await;
    let mut watch = rig.watch(&format!("{WIDGETS}?watch=1&fieldSelector=spec.color%3Dblue")).await;
    rig.post(WIDGETS, widget("a")).await.ok();
    rig.patch(MERGE, &format!("{WIDGETS}/a"), json!({"spec": {"color": "blue"}})).await.ok();
    assert_eq!(watch.event().await, seen("ADDED", "a"));
    rig.get(&format!("{WIDGETS}?watch=1&fieldSelector=spec.replicas%3D1")).await.refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn watches_end_on_request_and_with_their_resource() {
    let rig = with_widgets().await;
    let mut cut = rig.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    rig.api.end_watches();
    assert_eq!(cut.next().await, None);
    let mut watch = rig.watch(&format!("{WIDGETS}?watch=1")).await;
    assert!(watch.is_quiet().await);
    rig.delete(&format!("{CRDS}/widgets.rig.test")).await.ok();
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn metadata_watches_show_metadata_only() {
    let rig = Rig::new();
    rig.post(CONFIG_MAPS, config_map("a")).await.ok();
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let mut watch = rig.watch_as(accept, &format!("{CONFIG_MAPS}?watch=1")).await;
    let object = watch.next().await.unwrap()["object"].clone();
    assert_eq!((&object["kind"], object.get("data")), (&json!("PartialObjectMetadata"), None));
    assert_eq!(object["metadata"]["name"], "a");
}
