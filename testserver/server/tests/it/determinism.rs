//! A seed and a start time: the same requests give the same responses in every run.

use std::time::Duration;

use jiff::Timestamp;
use kube_testserver::{BuiltInController, TestServer};
use serde_json::json;

use crate::client::*;

/// Every body of a small operator's life, then the snapshot.
async fn story() -> Vec<String> {
    let builder = TestServer::builder().seed(7).start_time("2026-01-01T00:00:00Z".parse().unwrap());
    let builder = builder.with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let client = TestClient { api: builder.service().unwrap() };
    let mut bodies = vec![client.post(CRDS, widgets()).await.ok()];
    for name in ["b", "a"] {
        bodies.push(client.post(WIDGETS, widget(name)).await.ok());
    }
    bodies.push(client.post(CONFIG_MAPS, json!({"metadata": {"generateName": "settings-"}})).await.ok());
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}});
    let spec = json!({"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    let deployment = json!({"metadata": {"name": "web"}, "spec": spec});
    bodies.push(client.post("/apis/apps/v1/namespaces/default/deployments", deployment).await.ok());
    client.api.advance(Duration::from_secs(90));
    let service = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], "type": "NodePort"}});
    bodies.push(client.post("/api/v1/namespaces/default/services", service).await.ok());
    bodies.push(client.delete(&format!("{WIDGETS}/a")).await.ok());
    for path in
        ["/api/v1/pods", "/apis", "/api/v1", "/openapi/v3", "/apis/apps/v1/replicasets", "/api/v1/nodes"]
    {
        bodies.push(client.get(path).await.ok());
    }
    let mut texts: Vec<String> = bodies.iter().map(ToString::to_string).collect();
    texts.push(client.api.snapshot());
    texts
}

#[tokio::test(start_paused = true)]
async fn two_runs_with_one_seed_are_equal() {
    let (first, second) = (story().await, story().await);
    for (one, other) in first.iter().zip(&second) {
        assert_eq!(one, other);
    }
    assert!(first.last().unwrap().contains("2026-01-01T00:01:30Z"), "the advanced clock");
}

#[tokio::test]
async fn a_seeded_server_goes_on_with_new_uids_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open = || TestClient { api: TestServer::builder().seed(7).data(dir.path()).service().unwrap() };
    let client = open();
    let first = client.post(CONFIG_MAPS, config_map("a")).await.ok();
    drop(client);
    let second = open().post(CONFIG_MAPS, config_map("b")).await.ok();
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
}

/// The first and the last time that timestamps can say, and what comes after.
#[tokio::test(start_paused = true)]
async fn the_clock_starts_within_the_years_of_timestamps() {
    let at = |start: Timestamp| TestServer::builder().start_time(start).service();
    for start in ["0000-01-01T00:00:00Z", "9999-12-30T22:00:00Z"] {
        let client = TestClient { api: at(start.parse().unwrap()).unwrap() };
        client.api.advance(Duration::from_secs(3600));
        let made = client.post(CONFIG_MAPS, config_map("a")).await.ok();
        let time = made["metadata"]["creationTimestamp"].as_str().unwrap();
        assert!(time.len() == start.len() && time.parse::<Timestamp>().is_ok(), "{time}");
    }
    let refused = at(Timestamp::MIN).unwrap_err().to_string();
    assert_eq!(
        refused,
        "cannot start the clock at -009999-01-02T01:59:59Z: expected a time from 0000-01-01T00:00:00Z to 9999-12-30T22:00:00Z"
    );
}
