//! Lists: pages, revisions, selectors.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::*;

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

async fn with_config_maps(count: usize) -> TestClient {
    let client = TestClient::new();
    for i in 0..count {
        let mut object = config_map(&format!("c{i}"));
        object["metadata"]["labels"] = json!({"parity": if i % 2 == 0 { "even" } else { "odd" }});
        client.post(CONFIG_MAPS, object).await.ok();
    }
    client
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_state_despite_changes() {
    let client = with_config_maps(5).await;
    let first = client.get(&format!("{CONFIG_MAPS}?limit=2")).await.ok();
    assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["c0", "c1"], &json!(3)));
    client.delete(&format!("{CONFIG_MAPS}/c3")).await.ok();
    client.post(CONFIG_MAPS, config_map("c2x")).await.ok();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = client.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}")).await.ok();
    assert_eq!(names(&second), ["c2", "c3"]);
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let token = second["metadata"]["continue"].as_str().unwrap();
    let third = client.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}")).await.ok();
    assert_eq!((names(&third), third["metadata"].get("continue")), (vec!["c4"], None));
    assert_eq!(names(&client.get(CONFIG_MAPS).await.ok()), ["c0", "c1", "c2", "c2x", "c4"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_offers_a_continuation() {
    let client = with_config_maps(3).await;
    let first = client.get(&format!("{CONFIG_MAPS}?limit=1")).await.ok();
    let token = first["metadata"]["continue"].as_str().unwrap();
    client.post(CONFIG_MAPS, config_map("c0x")).await.ok();
    client.api.compact();
    let reply = client.get(&format!("{CONFIG_MAPS}?limit=5&continue={token}")).await;
    let resume = reply.body["metadata"]["continue"].as_str().unwrap().to_string();
    reply.refused(410, "Expired");
    let rest = client.get(&format!("{CONFIG_MAPS}?limit=5&continue={resume}")).await.ok();
    assert_eq!(names(&rest), ["c0x", "c1", "c2"]);
}

#[tokio::test(start_paused = true)]
async fn old_and_future_versions() {
    let client = with_config_maps(2).await;
    let then = client.api.resource_version();
    client.delete(&format!("{CONFIG_MAPS}/c0")).await.ok();
    let exact =
        client.get(&format!("{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact")).await.ok();
    assert_eq!(
        (names(&exact), &exact["metadata"]["resourceVersion"]),
        (vec!["c0", "c1"], &json!(then.to_string()))
    );
    for present in
        ["resourceVersion=0".into(), format!("resourceVersion={then}&resourceVersionMatch=NotOlderThan")]
    {
        assert_eq!(names(&client.get(&format!("{CONFIG_MAPS}?{present}")).await.ok()), ["c1"]);
    }
    let future = client.get(&format!("{CONFIG_MAPS}?resourceVersion=99999")).await;
    assert_eq!(future.headers["retry-after"], "1");
    assert_eq!(future.body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    future.refused(504, "Timeout");
    client.api.compact();
    client
        .get(&format!("{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact"))
        .await
        .refused(410, "Expired");
}

#[tokio::test(start_paused = true)]
async fn selectors_select() {
    let client = with_config_maps(4).await;
    let list = async |query: &str| client.get(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(names(&list("labelSelector=parity%3Deven").await.ok()), ["c0", "c2"]);
    assert_eq!(names(&list("labelSelector=parity+in+(odd),!x").await.ok()), ["c1", "c3"]);
    assert_eq!(names(&list("fieldSelector=metadata.name%3Dc1").await.ok()), ["c1"]);
    assert_eq!(names(&list("fieldSelector=metadata.namespace!%3Ddefault").await.ok()), Vec::<&str>::new());
    let page = list("labelSelector=parity%3Deven&limit=1").await.ok();
    assert!(page["metadata"]["continue"].is_string() && page["metadata"].get("remainingItemCount").is_none());
    assert_eq!(
        list("fieldSelector=data.k%3Dv").await.refused(400, "BadRequest"),
        "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    );
    list("labelSelector=%3D").await.refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn items_of_built_in_lists_have_no_type_and_those_of_custom_ones_do() {
    let client = with_widgets().await;
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    client.post(WIDGETS, widget("a")).await.ok();
    let list = client.get(CONFIG_MAPS).await.ok();
    assert_eq!((&list["kind"], list["items"][0].get("kind")), (&json!("ConfigMapList"), None));
    let list = client.get("/apis/rig.test/v1/widgets").await.ok();
    assert_eq!((&list["kind"], &list["items"][0]["kind"]), (&json!("WidgetList"), &json!("Widget")));
    assert_eq!(list["metadata"]["continue"], "");
    assert_eq!(client.get("/apis/rig.test/v1/namespaces/other/widgets").await.ok()["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn the_history_begins_before_the_first_object() {
    let client = TestClient::new();
    let now = client.api.resource_version();
    let at = async |version: u64| {
        let query = format!("?resourceVersion={version}&resourceVersionMatch=Exact");
        names(&client.get(&format!("/api/v1/namespaces{query}")).await.ok()).len()
    };
    let counts = [at(1).await, at(now).await];
    assert!(counts[0] == 0 && counts[1] > 2, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn earlier_states_can_be_listed_for_five_to_ten_minutes() {
    let client = TestClient::new();
    for name in ["c0", "c1", "c2"] {
        client.post(CONFIG_MAPS, config_map(name)).await.ok();
    }
    let first = client.get(&format!("{CONFIG_MAPS}?limit=1")).await.ok();
    let next = format!("{CONFIG_MAPS}?limit=1&continue={}", first["metadata"]["continue"].as_str().unwrap());
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    let exact = format!("{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
    client.post(CONFIG_MAPS, config_map("c3")).await.ok();
    client.api.advance(Duration::from_secs(301));
    assert_eq!(names(&client.get(&next).await.ok()), ["c1"]);
    client.api.advance(Duration::from_secs(300));
    let message = client.get(&next).await.refused(410, "Expired");
    assert!(message.starts_with("The provided continue parameter is too old"), "{message}");
    client.get(&exact).await.refused(410, "Expired");
    // An idle server is compacted too, and the rest is listed at a later revision.
    let rest = client.get(&next).await.body["metadata"]["continue"].clone();
    let rest = client.get(&format!("{CONFIG_MAPS}?limit=1&continue={}", rest.as_str().unwrap())).await.ok();
    assert_ne!(rest["metadata"]["resourceVersion"], version);
    // Watches go on from where they were.
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}")).await;
    assert_eq!(watch.next().await.unwrap()["object"]["metadata"]["name"], "c3");
}
