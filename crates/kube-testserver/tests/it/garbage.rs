use serde_json::{Value, json};

use crate::rig::*;

fn owned(name: &str, owner: &Value, blocks: bool) -> Value {
    let mut object = config_map(name);
    object["metadata"]["ownerReferences"] = json!([reference(owner, blocks)]);
    object
}

fn reference(owner: &Value, blocks: bool) -> Value {
    json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": blocks, "blockOwnerDeletion": blocks})
}

async fn exists(rig: &Rig, name: &str) -> bool {
    rig.get(&format!("{CONFIG_MAPS}/{name}")).await.code == 200
}

#[tokio::test(start_paused = true)]
async fn dependents_follow_their_owner() {
    let rig = with_widgets().await;
    let owner = rig.post(WIDGETS, widget("owner")).await.ok();
    let child = rig.post(CONFIG_MAPS, owned("child", &owner, true)).await.ok();
    rig.post(CONFIG_MAPS, owned("grandchild", &child, false)).await.ok();
    rig.post(CONFIG_MAPS, config_map("stranger")).await.ok();
    rig.delete(&format!("{WIDGETS}/owner")).await.ok();
    assert!(
        !exists(&rig, "child").await && !exists(&rig, "grandchild").await && exists(&rig, "stranger").await
    );
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_the_owner_goes_last() {
    let rig = with_widgets().await;
    let owner = rig.post(WIDGETS, widget("owner")).await.ok();
    let mut child = owned("child", &owner, true);
    child["metadata"]["finalizers"] = json!(["x.test/hold"]);
    rig.post(CONFIG_MAPS, child).await.ok();
    rig.post(CONFIG_MAPS, owned("free", &owner, false)).await.ok();
    let marked =
        rig.delete_with(&format!("{WIDGETS}/owner"), json!({"propagationPolicy": "Foreground"})).await.ok();
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert!(rig.get(&format!("{WIDGETS}/owner")).await.ok()["metadata"]["deletionTimestamp"].is_string());
    let held = rig.get(&format!("{CONFIG_MAPS}/child")).await.ok();
    assert!(held["metadata"]["deletionTimestamp"].is_string());
    rig.patch(MERGE, &format!("{CONFIG_MAPS}/child"), json!({"metadata": {"finalizers": null}})).await.ok();
    assert!(!exists(&rig, "child").await && !exists(&rig, "free").await);
    rig.get(&format!("{WIDGETS}/owner")).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_without_their_reference() {
    let rig = with_widgets().await;
    let owner = rig.post(WIDGETS, widget("owner")).await.ok();
    rig.post(CONFIG_MAPS, owned("child", &owner, true)).await.ok();
    rig.delete_with(&format!("{WIDGETS}/owner"), json!({"propagationPolicy": "Orphan"})).await.ok();
    rig.get(&format!("{WIDGETS}/owner")).await.refused(404, "NotFound");
    assert!(rig.get(&format!("{CONFIG_MAPS}/child")).await.ok()["metadata"].get("ownerReferences").is_none());
}

#[tokio::test(start_paused = true)]
async fn one_of_several_owners_is_enough() {
    let rig = with_widgets().await;
    let one = rig.post(WIDGETS, widget("one")).await.ok();
    let two = rig.post(WIDGETS, widget("two")).await.ok();
    let mut child = config_map("child");
    child["metadata"]["ownerReferences"] = json!([reference(&one, false), reference(&two, false)]);
    rig.post(CONFIG_MAPS, child).await.ok();
    rig.delete(&format!("{WIDGETS}/one")).await.ok();
    let child = rig.get(&format!("{CONFIG_MAPS}/child")).await.ok();
    assert_eq!(child["metadata"]["ownerReferences"], json!([reference(&two, false)]));
    rig.delete(&format!("{WIDGETS}/two")).await.ok();
    assert!(!exists(&rig, "child").await);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_is_not_there_takes_its_dependent_along() {
    let rig = with_widgets().await;
    let ghost =
        json!({"apiVersion": "rig.test/v1", "kind": "Widget", "metadata": {"name": "ghost", "uid": "u"}});
    rig.post(CONFIG_MAPS, owned("child", &ghost, false)).await.ok();
    assert!(!exists(&rig, "child").await);
    // Of a kind that nobody knows, nothing can be said.
    let unknown = json!({"apiVersion": "far.test/v1", "kind": "Away", "metadata": {"name": "a", "uid": "u"}});
    rig.post(CONFIG_MAPS, owned("kept", &unknown, false)).await.ok();
    assert!(exists(&rig, "kept").await);
    // Nor of a version that there is not, and then nothing is done about the other owners either.
    let future =
        json!({"apiVersion": "rig.test/v9", "kind": "Widget", "metadata": {"name": "a", "uid": "v"}});
    let mut doubtful = owned("doubtful", &ghost, false);
    doubtful["metadata"]["ownerReferences"] = json!([reference(&ghost, false), reference(&future, false)]);
    rig.post(CONFIG_MAPS, doubtful).await.ok();
    let doubtful = rig.get(&format!("{CONFIG_MAPS}/doubtful")).await.ok();
    assert_eq!(doubtful["metadata"]["ownerReferences"].as_array().unwrap().len(), 2);
    // What has no namespace cannot say in which its owner is.
    let mut global = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "global"}});
    global["metadata"]["ownerReferences"] = json!([reference(&ghost, false)]);
    rig.post("/api/v1/namespaces", global).await.ok();
    rig.get("/api/v1/namespaces/global").await.ok();
    // An owner in another namespace is none.
    let elsewhere = rig.post("/apis/rig.test/v1/namespaces/kube-system/widgets", widget("w")).await.ok();
    rig.post(CONFIG_MAPS, owned("far", &elsewhere, false)).await.ok();
    assert!(!exists(&rig, "far").await);
    // A cluster-scoped one is an owner anywhere.
    let namespace = rig.get("/api/v1/namespaces/kube-public").await.ok();
    rig.post(CONFIG_MAPS, owned("near", &namespace, false)).await.ok();
    assert!(exists(&rig, "near").await);
}

#[tokio::test(start_paused = true)]
async fn a_wide_family_goes_in_one_request() {
    let rig = Rig::new();
    let owner = rig.post(CONFIG_MAPS, config_map("owner")).await.ok();
    for i in 0..200 {
        rig.post(CONFIG_MAPS, owned(&format!("c{i}"), &owner, true)).await.ok();
    }
    rig.delete_with(&format!("{CONFIG_MAPS}/owner"), json!({"propagationPolicy": "Foreground"})).await.ok();
    assert_eq!(rig.get(CONFIG_MAPS).await.ok()["items"], json!([]));
}
