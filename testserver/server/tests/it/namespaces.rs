//! Namespaces: creation in missing ones, and termination.

use serde_json::json;

use crate::client::*;

const NAMESPACES: &str = "/api/v1/namespaces";

#[tokio::test(start_paused = true)]
async fn four_namespaces_exist_from_the_start() {
    let list = TestClient::new().get(NAMESPACES).await.ok();
    let names: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|n| n["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
}

#[tokio::test(start_paused = true)]
async fn creates_in_a_missing_namespace_are_refused() {
    let client = with_widgets().await;
    let message =
        client.post("/api/v1/namespaces/gone/configmaps", config_map("a")).await.refused(404, "NotFound");
    assert_eq!(message, "namespaces \"gone\" not found");
    client.post("/apis/rig.test/v1/namespaces/gone/widgets", widget("a")).await.refused(404, "NotFound");
    assert_eq!(client.get("/api/v1/namespaces/gone/configmaps").await.ok()["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn deletion_deletes_the_contents_first() {
    let client = with_widgets().await;
    let made = client.post(NAMESPACES, json!({"metadata": {"name": "doomed"}})).await.ok();
    assert_eq!(
        (&made["status"]["phase"], &made["spec"]["finalizers"]),
        (&json!("Active"), &json!(["kubernetes"]))
    );
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], "doomed");
    let inside = "/apis/rig.test/v1/namespaces/doomed/widgets";
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    client.post(inside, held).await.ok();
    client.post(inside, widget("free")).await.ok();

    client.delete(&format!("{NAMESPACES}/doomed")).await.ok();
    let waiting = client.get(&format!("{NAMESPACES}/doomed")).await.ok();
    assert_eq!(waiting["status"]["phase"], "Terminating");
    client.get(&format!("{inside}/free")).await.refused(404, "NotFound");
    let message = client.post(inside, widget("late")).await.refused(403, "Forbidden");
    assert!(message.contains("because it is being terminated"), "{message}");

    client.patch(MERGE, &format!("{inside}/held"), json!({"metadata": {"finalizers": []}})).await.ok();
    client.get(&format!("{NAMESPACES}/doomed")).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn an_empty_namespace_is_deleted_at_once_and_system_ones_never() {
    let client = TestClient::new();
    client.post(NAMESPACES, json!({"metadata": {"name": "empty"}})).await.ok();
    client.delete(&format!("{NAMESPACES}/empty")).await.ok();
    client.get(&format!("{NAMESPACES}/empty")).await.refused(404, "NotFound");
    client.delete(&format!("{NAMESPACES}/default")).await.refused(403, "Forbidden");
    client.post(NAMESPACES, json!({"metadata": {"name": "not.a.label"}})).await.refused(422, "Invalid");
}
