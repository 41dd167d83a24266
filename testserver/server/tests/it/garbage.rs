//! Garbage collection by owner references.

use serde_json::{Value, json};

use crate::client::*;

fn owned(name: &str, owner: &Value, blocks: bool) -> Value {
    let mut object = config_map(name);
    object["metadata"]["ownerReferences"] = json!([reference(owner, blocks)]);
    object
}

fn reference(owner: &Value, blocks: bool) -> Value {
    json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": blocks, "blockOwnerDeletion": blocks})
}

async fn exists(client: &TestClient, name: &str) -> bool {
    client.get(&format!("{CONFIG_MAPS}/{name}")).await.code == 200
}

#[tokio::test(start_paused = true)]
async fn dependents_follow_their_owner() {
    let client = with_widgets().await;
    let owner = client.post(WIDGETS, widget("owner")).await.ok();
    let child = client.post(CONFIG_MAPS, owned("child", &owner, true)).await.ok();
    client.post(CONFIG_MAPS, owned("grandchild", &child, false)).await.ok();
    client.post(CONFIG_MAPS, config_map("stranger")).await.ok();
    client.delete(&format!("{WIDGETS}/owner")).await.ok();
    assert!(
        !exists(&client, "child").await
            && !exists(&client, "grandchild").await
            && exists(&client, "stranger").await
    );
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_removes_the_owner_last() {
    let client = with_widgets().await;
    let owner = client.post(WIDGETS, widget("owner")).await.ok();
    let mut child = owned("child", &owner, true);
    child["metadata"]["finalizers"] = json!(["x.test/hold"]);
    client.post(CONFIG_MAPS, child).await.ok();
    client.post(CONFIG_MAPS, owned("free", &owner, false)).await.ok();
    let marked = client
        .delete_with(&format!("{WIDGETS}/owner"), json!({"propagationPolicy": "Foreground"}))
        .await
        .ok();
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert!(client.get(&format!("{WIDGETS}/owner")).await.ok()["metadata"]["deletionTimestamp"].is_string());
    let held = client.get(&format!("{CONFIG_MAPS}/child")).await.ok();
    assert!(held["metadata"]["deletionTimestamp"].is_string());
    client
        .patch(MERGE, &format!("{CONFIG_MAPS}/child"), json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    assert!(!exists(&client, "child").await && !exists(&client, "free").await);
    client.get(&format!("{WIDGETS}/owner")).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn orphans_lose_their_owner_reference() {
    let client = with_widgets().await;
    let owner = client.post(WIDGETS, widget("owner")).await.ok();
    client.post(CONFIG_MAPS, owned("child", &owner, true)).await.ok();
    client.delete_with(&format!("{WIDGETS}/owner"), json!({"propagationPolicy": "Orphan"})).await.ok();
    client.get(&format!("{WIDGETS}/owner")).await.refused(404, "NotFound");
    assert!(
        client.get(&format!("{CONFIG_MAPS}/child")).await.ok()["metadata"].get("ownerReferences").is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn one_existing_owner_is_enough() {
    let client = with_widgets().await;
    let one = client.post(WIDGETS, widget("one")).await.ok();
    let two = client.post(WIDGETS, widget("two")).await.ok();
    let mut child = config_map("child");
    child["metadata"]["ownerReferences"] = json!([reference(&one, false), reference(&two, false)]);
    client.post(CONFIG_MAPS, child).await.ok();
    client.delete(&format!("{WIDGETS}/one")).await.ok();
    let child = client.get(&format!("{CONFIG_MAPS}/child")).await.ok();
    assert_eq!(child["metadata"]["ownerReferences"], json!([reference(&two, false)]));
    client.delete(&format!("{WIDGETS}/two")).await.ok();
    assert!(!exists(&client, "child").await);
}

#[tokio::test(start_paused = true)]
async fn a_dependent_of_a_missing_owner_is_deleted() {
    let client = with_widgets().await;
    let ghost =
        json!({"apiVersion": "rig.test/v1", "kind": "Widget", "metadata": {"name": "ghost", "uid": "u"}});
    client.post(CONFIG_MAPS, owned("child", &ghost, false)).await.ok();
    assert!(!exists(&client, "child").await);
    // An owner of an unknown kind is unresolvable.
    let unknown = json!({"apiVersion": "far.test/v1", "kind": "Away", "metadata": {"name": "a", "uid": "u"}});
    client.post(CONFIG_MAPS, owned("kept", &unknown, false)).await.ok();
    assert!(exists(&client, "kept").await);
    // An owner of an unserved version too, and then the other owners are left alone.
    let future =
        json!({"apiVersion": "rig.test/v9", "kind": "Widget", "metadata": {"name": "a", "uid": "v"}});
    let mut doubtful = owned("doubtful", &ghost, false);
    doubtful["metadata"]["ownerReferences"] = json!([reference(&ghost, false), reference(&future, false)]);
    client.post(CONFIG_MAPS, doubtful).await.ok();
    let doubtful = client.get(&format!("{CONFIG_MAPS}/doubtful")).await.ok();
    assert_eq!(doubtful["metadata"]["ownerReferences"].as_array().unwrap().len(), 2);
    // A cluster-scoped dependent cannot have a namespaced owner.
    let mut global = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "global"}});
    global["metadata"]["ownerReferences"] = json!([reference(&ghost, false)]);
    client.post("/api/v1/namespaces", global).await.ok();
    client.get("/api/v1/namespaces/global").await.ok();
    // An owner in another namespace does not count.
    let elsewhere = client.post("/apis/rig.test/v1/namespaces/kube-system/widgets", widget("w")).await.ok();
    client.post(CONFIG_MAPS, owned("far", &elsewhere, false)).await.ok();
    assert!(!exists(&client, "far").await);
    // A cluster-scoped owner counts in every namespace.
    let namespace = client.get("/api/v1/namespaces/kube-public").await.ok();
    client.post(CONFIG_MAPS, owned("near", &namespace, false)).await.ok();
    assert!(exists(&client, "near").await);
}

#[tokio::test(start_paused = true)]
async fn many_dependents_are_deleted_in_one_request() {
    let client = TestClient::new();
    let owner = client.post(CONFIG_MAPS, config_map("owner")).await.ok();
    for i in 0..200 {
        client.post(CONFIG_MAPS, owned(&format!("c{i}"), &owner, true)).await.ok();
    }
    client
        .delete_with(&format!("{CONFIG_MAPS}/owner"), json!({"propagationPolicy": "Foreground"}))
        .await
        .ok();
    assert_eq!(client.get(CONFIG_MAPS).await.ok()["items"], json!([]));
}
