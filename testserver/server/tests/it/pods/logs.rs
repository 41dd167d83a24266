//! Logs of pods.

use serde_json::{Value, json};

use super::channels::{PODS, with_pod};
use crate::client::TestClient;

async fn text(client: &TestClient, query: &str) -> Value {
    client.get(&format!("{PODS}/web/log{query}")).await.ok()
}

#[tokio::test]
async fn the_log_of_a_container_is_text() {
    let (server, client) = with_pod(&["main"]).await;
    assert_eq!(text(&client, "").await, json!(""));
    let kubelet = server.api().kubelet();
    kubelet.log("default", "web", "main", "one\ntwo\nthree");
    assert_eq!(text(&client, "").await, json!("one\ntwo\nthree\n"));
    assert_eq!(text(&client, "?tailLines=1&container=main").await, json!("three\n"));
    assert_eq!(text(&client, "?limitBytes=5").await, json!("one\nt"));
    assert_eq!(text(&client, "?sinceTime=2999-01-01T00:00:00Z").await, json!(""));
    let stamped = text(&client, "?timestamps=true&tailLines=1").await;
    let (time, line) = stamped.as_str().unwrap().split_once(' ').unwrap();
    assert!(time.parse::<jiff::Timestamp>().is_ok() && line == "three\n", "{stamped}");
    kubelet.rotate_log("default", "web", "main");
    kubelet.log("default", "web", "main", "again");
    assert_eq!(text(&client, "").await, json!("again\n"));
    assert_eq!(text(&client, "?previous=true").await, json!("one\ntwo\nthree\n"));
    server.shutdown().await;
}

#[tokio::test]
async fn a_log_is_followed_until_the_server_ends() {
    let (server, _) = with_pod(&["main"]).await;
    let kubelet = server.api().kubelet();
    kubelet.log("default", "web", "main", "before");
    let client = TestClient { api: server.api() };
    let mut log = client.watch(&format!("{PODS}/web/log?follow=true")).await;
    assert_eq!(log.text().await.unwrap(), "before\n");
    kubelet.log("default", "web", "main", "after");
    assert_eq!(log.text().await.unwrap(), "after\n");
    server.api().end_watches();
    assert_eq!(log.text().await, None);
    server.shutdown().await;
}

#[tokio::test]
async fn invalid_log_options_are_refused() {
    let (server, client) = with_pod(&["a", "b"]).await;
    let path = |query: &str| format!("{PODS}/web/log{query}");
    let refused = client.get(&path("")).await.refused(400, "BadRequest");
    assert_eq!(refused, "a container name must be specified for pod web, choose one of: [a b]");
    let refused = client.get(&path("?container=z")).await.refused(400, "BadRequest");
    assert_eq!(refused, "container z is not valid for pod web");
    let refused = client.get(&path("?tailLines=-1")).await.refused(422, "Invalid");
    assert!(
        refused.ends_with("tailLines: Invalid value: -1: must be greater than or equal to 0"),
        "{refused}"
    );
    let refused =
        client.get(&path("?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z")).await.refused(422, "Invalid");
    assert!(refused.contains("at most one of `sinceTime` or `sinceSeconds`"), "{refused}");
    let refused = client.get(&path("?limitBytes=x")).await.refused(400, "BadRequest");
    assert_eq!(refused, "strconv.ParseInt: parsing \"x\": invalid syntax");
    client.get(&format!("{PODS}/none/log")).await.refused(404, "NotFound");
    server.shutdown().await;
}
