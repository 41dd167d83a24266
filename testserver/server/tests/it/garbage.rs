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

/// As on a genuine server (1.37): ReplicationControllers and Jobs leave their dependents, unless the request says otherwise.
#[tokio::test(start_paused = true)]
async fn some_kinds_orphan_by_default() {
    let client = TestClient::new();
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let mut always = template.clone();
    always["spec"]["restartPolicy"] = "Always".into();
    let selector = json!({"matchLabels": {"a": "b"}});
    for (path, spec, orphans) in [
        (
            "/api/v1/namespaces/default/replicationcontrollers",
            json!({"replicas": 0, "template": always}),
            true,
        ),
        ("/apis/batch/v1/namespaces/default/jobs", json!({"suspend": true, "template": template}), true),
        (
            "/apis/apps/v1/namespaces/default/replicasets",
            json!({"replicas": 0, "selector": selector, "template": always}),
            false,
        ),
    ] {
        for (body, kept) in [
            (json!({}), orphans),
            (json!({"propagationPolicy": "Background"}), false),
            (json!({"propagationPolicy": "Orphan"}), true),
            (json!({"orphanDependents": false}), false),
        ] {
            let made = client.post(path, json!({"metadata": {"name": "owner"}, "spec": spec})).await.ok();
            client.post(CONFIG_MAPS, owned("child", &made, true)).await.ok();
            let deleted = client.delete_with(&format!("{path}/owner"), body.clone()).await.ok();
            assert_eq!(deleted["metadata"]["finalizers"] == json!(["orphan"]), kept, "{path} {body}");
            client.get(&format!("{path}/owner")).await.refused(404, "NotFound");
            assert_eq!(exists(&client, "child").await, kept, "{path} {body}");
            if kept {
                let child = client.get(&format!("{CONFIG_MAPS}/child")).await.ok();
                assert!(child["metadata"].get("ownerReferences").is_none());
                client.delete(&format!("{CONFIG_MAPS}/child")).await.ok();
            }
        }
        client.post(path, json!({"metadata": {"name": "one"}, "spec": spec})).await.ok();
        let one = client.get(&format!("{path}/one")).await.ok();
        client.post(CONFIG_MAPS, owned("child", &one, true)).await.ok();
        client.delete(path).await.ok();
        assert_eq!(exists(&client, "child").await, orphans, "of a collection: {path}");
        // What is on the object goes before its kind.
        let foreground =
            json!({"metadata": {"name": "own", "finalizers": ["foregroundDeletion"]}, "spec": spec});
        let own = client.post(path, foreground).await.ok();
        client.post(CONFIG_MAPS, owned("of-own", &own, true)).await.ok();
        client.delete(&format!("{path}/own")).await.ok();
        assert!(!exists(&client, "of-own").await, "{path}");
        client.delete(CONFIG_MAPS).await.ok();
    }
}

#[tokio::test(start_paused = true)]
async fn circles_of_owners_end() {
    let client = TestClient::new();
    for policy in ["Background", "Foreground", "Orphan"] {
        let mut made = Vec::new();
        for name in ["a", "b", "c"] {
            let mut object = client.post(CONFIG_MAPS, config_map(name)).await.ok();
            object["kind"] = "ConfigMap".into();
            made.push(object);
        }
        for (name, owner) in [("a", 2), ("b", 0), ("c", 1)] {
            let owners = json!({"metadata": {"ownerReferences": [reference(&made[owner], true)]}});
            client.patch(MERGE, &format!("{CONFIG_MAPS}/{name}"), owners).await.ok();
        }
        client.delete_with(&format!("{CONFIG_MAPS}/a"), json!({"propagationPolicy": policy})).await.ok();
        assert!(!exists(&client, "a").await, "{policy}");
        for name in ["b", "c"] {
            assert_eq!(exists(&client, name).await, policy == "Orphan", "{name} {policy}");
        }
        client.delete(CONFIG_MAPS).await.ok();
    }
}

/// A dependent that does not block the deletion of an owner is deleted with the others, while the owner waits.
#[tokio::test(start_paused = true)]
async fn foreground_deletion_reaches_every_dependent() {
    let client = with_widgets().await;
    let owner = client.post(WIDGETS, widget("owner")).await.ok();
    for (name, blocks) in [("blocks", true), ("free", false)] {
        let mut child = owned(name, &owner, blocks);
        child["metadata"]["finalizers"] = json!(["x.test/hold"]);
        client.post(CONFIG_MAPS, child).await.ok();
    }
    client.delete_with(&format!("{WIDGETS}/owner"), json!({"propagationPolicy": "Foreground"})).await.ok();
    for name in ["blocks", "free"] {
        let child = client.get(&format!("{CONFIG_MAPS}/{name}")).await.ok();
        assert!(child["metadata"]["deletionTimestamp"].is_string(), "{name}");
    }
    client.get(&format!("{WIDGETS}/owner")).await.ok();
    let free = json!({"metadata": {"ownerReferences": [reference(&owner, false)]}});
    client.patch(MERGE, &format!("{CONFIG_MAPS}/blocks"), free).await.ok();
    client.get(&format!("{WIDGETS}/owner")).await.refused(404, "NotFound");
}
