use serde_json::json;

use crate::rig::*;

const NAMESPACES: &str = "/api/v1/namespaces";

#[tokio::test(start_paused = true)]
async fn four_are_there_from_the_start() {
    let list = Rig::new().get(NAMESPACES).await.ok();
    let names: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|n| n["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_in_a_missing_one() {
    let rig = with_widgets().await;
    let message =
        rig.post("/api/v1/namespaces/gone/configmaps", config_map("a")).await.refused(404, "NotFound");
    assert_eq!(message, "namespaces \"gone\" not found");
    rig.post("/apis/rig.test/v1/namespaces/gone/widgets", widget("a")).await.refused(404, "NotFound");
    assert_eq!(rig.get("/api/v1/namespaces/gone/configmaps").await.ok()["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn deletion_takes_the_contents_first() {
    let rig = with_widgets().await;
    let made = rig.post(NAMESPACES, json!({"metadata": {"name": "doomed"}})).await.ok();
    assert_eq!(
        (&made["status"]["phase"], &made["spec"]["finalizers"]),
        (&json!("Active"), &json!(["kubernetes"]))
    );
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], "doomed");
    let inside = "/apis/rig.test/v1/namespaces/doomed/widgets";
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    rig.post(inside, held).await.ok();
    rig.post(inside, widget("free")).await.ok();

    rig.delete(&format!("{NAMESPACES}/doomed")).await.ok();
    let waiting = rig.get(&format!("{NAMESPACES}/doomed")).await.ok();
    assert_eq!(waiting["status"]["phase"], "Terminating");
    rig.get(&format!("{inside}/free")).await.refused(404, "NotFound");
    let message = rig.post(inside, widget("late")).await.refused(403, "Forbidden");
    assert!(message.contains("because it is being terminated"), "{message}");

    rig.patch(MERGE, &format!("{inside}/held"), json!({"metadata": {"finalizers": []}})).await.ok();
    rig.get(&format!("{NAMESPACES}/doomed")).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn an_empty_one_goes_at_once_and_some_never_do() {
    let rig = Rig::new();
    rig.post(NAMESPACES, json!({"metadata": {"name": "empty"}})).await.ok();
    rig.delete(&format!("{NAMESPACES}/empty")).await.ok();
    rig.get(&format!("{NAMESPACES}/empty")).await.refused(404, "NotFound");
    rig.delete(&format!("{NAMESPACES}/default")).await.refused(403, "Forbidden");
    rig.post(NAMESPACES, json!({"metadata": {"name": "not.a.label"}})).await.refused(422, "Invalid");
}
