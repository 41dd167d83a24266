//! Namespaces: creation in missing ones, and termination.

use serde_json::{Value, json};

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
    // Nothing is said about the place of what cannot be decoded. Answers of Kubernetes 1.37.
    let mut wrong = config_map("a");
    wrong["data"] = 5.into();
    client.post("/api/v1/namespaces/gone/configmaps", wrong).await.refused(400, "BadRequest");
    client.post("/api/v1/namespaces/gone/configmaps", config_map("A_B")).await.refused(404, "NotFound");
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

fn messages(namespace: &Value) -> Vec<(&str, &str)> {
    let conditions = namespace["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let shown = conditions.iter().filter(|condition| condition["status"] == "True");
    shown.map(|c| (c["type"].as_str().unwrap(), c["message"].as_str().unwrap())).collect()
}

fn reasons(namespace: &Value) -> Vec<(&str, &str)> {
    let conditions = namespace["status"]["conditions"].as_array().unwrap();
    conditions.iter().map(|c| (c["type"].as_str().unwrap(), c["reason"].as_str().unwrap())).collect()
}

const CORE: &str = "/api/v1/namespaces/doomed";
const WIDGETS: &str = "/apis/rig.test/v1/namespaces/doomed/widgets";

/// A namespace with objects that finalizers hold: a pod, a widget and the maps `a` and `b`. The map `free` has none.
async fn with_held_objects() -> TestClient {
    let client = with_widgets().await;
    client.post(NAMESPACES, json!({"metadata": {"name": "doomed"}})).await.ok();
    let held = json!(["x.test/hold"]);
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    client
        .post(&format!("{CORE}/pods"), json!({"metadata": {"name": "p", "finalizers": held}, "spec": spec}))
        .await
        .ok();
    let mut held_widget = widget("w");
    held_widget["metadata"]["finalizers"] = json!(["y.test/hold", "x.test/hold"]);
    client.post(WIDGETS, held_widget).await.ok();
    for name in ["a", "b"] {
        let mut map = config_map(name);
        map["metadata"]["finalizers"] = held.clone();
        client.post(&format!("{CORE}/configmaps"), map).await.ok();
    }
    client.post(&format!("{CORE}/configmaps"), config_map("free")).await.ok();
    client
}

/// The steps of a deletion on a genuine server (1.37), with its messages.
#[tokio::test(start_paused = true)]
async fn pods_go_first_and_conditions_tell_what_is_left() {
    let client = with_held_objects().await;
    let marked = client.delete(&format!("{NAMESPACES}/doomed")).await.ok();
    assert_eq!(marked["metadata"].get("deletionGracePeriodSeconds"), None);
    let waiting = client.get(&format!("{NAMESPACES}/doomed")).await.ok();
    assert_eq!(
        reasons(&waiting),
        [
            ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered"),
            ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions"),
            ("NamespaceDeletionContentFailure", "ContentDeleted"),
            ("NamespaceContentRemaining", "ContentRemoved"),
            ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers"),
        ]
    );
    let free = client.get(&format!("{CORE}/configmaps/free")).await.ok();
    assert!(free["metadata"].get("deletionTimestamp").is_none(), "while there is a pod");

    let unheld = json!({"metadata": {"finalizers": null}});
    client.patch(MERGE, &format!("{CORE}/pods/p"), unheld.clone()).await.ok();
    client.get(&format!("{CORE}/configmaps/free")).await.refused(404, "NotFound");
    let waiting = client.get(&format!("{NAMESPACES}/doomed")).await.ok();
    assert_eq!(
        messages(&waiting),
        [
            (
                "NamespaceContentRemaining",
                "Some resources are remaining: configmaps. has 2 resource instances, widgets.rig.test has 1 resource instances"
            ),
            (
                "NamespaceFinalizersRemaining",
                "Some content in the namespace has finalizers remaining: x.test/hold in 3 resource instances, y.test/hold in 1 resource instances"
            ),
        ]
    );
    client.patch(MERGE, &format!("{CORE}/configmaps/a"), unheld.clone()).await.ok();
    client.patch(MERGE, &format!("{CORE}/configmaps/b"), unheld.clone()).await.ok();
    let one = json!({"metadata": {"finalizers": ["x.test/hold"]}});
    client.patch(MERGE, &format!("{WIDGETS}/w"), one).await.ok();
    let waiting = client.get(&format!("{NAMESPACES}/doomed")).await.ok();
    assert_eq!(
        messages(&waiting),
        [
            (
                "NamespaceContentRemaining",
                "Some resources are remaining: widgets.rig.test has 1 resource instances"
            ),
            (
                "NamespaceFinalizersRemaining",
                "Some content in the namespace has finalizers remaining: x.test/hold in 1 resource instances"
            ),
        ]
    );
    client.patch(MERGE, &format!("{WIDGETS}/w"), unheld).await.ok();
    client.get(&format!("{NAMESPACES}/doomed")).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn finalizers_of_others_keep_an_empty_namespace() {
    let client = TestClient::new();
    client.post(NAMESPACES, json!({"metadata": {"name": "held", "finalizers": ["x.test/hold"]}})).await.ok();
    client.delete(&format!("{NAMESPACES}/held")).await.ok();
    let held = client.get(&format!("{NAMESPACES}/held")).await.ok();
    assert_eq!((&held["spec"], messages(&held).len()), (&json!({}), 0));
    assert_eq!(held["status"]["conditions"].as_array().unwrap().len(), 5);
    let unheld = json!({"metadata": {"finalizers": null}});
    client.patch(MERGE, &format!("{NAMESPACES}/held"), unheld).await.ok();
    client.get(&format!("{NAMESPACES}/held")).await.refused(404, "NotFound");

    let spec = json!({"finalizers": ["kubernetes", "other.test/f"]});
    let made = client.post(NAMESPACES, json!({"metadata": {"name": "other"}, "spec": spec})).await.ok();
    assert_eq!(made["spec"], spec);
    client.delete(&format!("{NAMESPACES}/other")).await.ok();
    let mut other = client.get(&format!("{NAMESPACES}/other")).await.ok();
    assert_eq!(other["spec"], json!({"finalizers": ["other.test/f"]}));
    other["spec"] = json!({});
    client.put(&format!("{NAMESPACES}/other/finalize"), other).await.ok();
    client.get(&format!("{NAMESPACES}/other")).await.refused(404, "NotFound");
}
