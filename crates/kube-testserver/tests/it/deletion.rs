use serde_json::json;

use crate::rig::*;

#[tokio::test(start_paused = true)]
async fn deletions_answer_with_a_status_or_the_object() {
    let rig = with_widgets().await;
    let created = rig.post(WIDGETS, widget("a")).await.ok();
    let status = rig.delete(&format!("{WIDGETS}/a")).await.ok();
    assert_eq!((&status["kind"], &status["status"]), (&json!("Status"), &json!("Success")));
    let details =
        json!({"name": "a", "group": "rig.test", "kind": "widgets", "uid": created["metadata"]["uid"]});
    assert_eq!(status["details"], details);
    rig.delete(&format!("{WIDGETS}/a")).await.refused(404, "NotFound");
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    rig.post(pods, pod).await.ok();
    assert_eq!(rig.delete(&format!("{pods}/p")).await.ok()["kind"], "Pod");
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let rig = with_widgets().await;
    let mut object = widget("a");
    object["metadata"]["finalizers"] = json!(["x.test/one", "x.test/two"]);
    rig.post(WIDGETS, object).await.ok();
    let mut watch =
        rig.watch(&format!("{WIDGETS}?watch=1&resourceVersion={}", rig.api.resource_version())).await;
    let path = format!("{WIDGETS}/a");

    let marked = rig.delete(&path).await.ok();
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        (&marked["metadata"]["generation"], &marked["metadata"]["deletionGracePeriodSeconds"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(
        rig.delete(&path).await.ok()["metadata"]["resourceVersion"],
        marked["metadata"]["resourceVersion"]
    );

    let message = rig
        .patch(MERGE, &path, json!({"metadata": {"finalizers": ["x.test/one", "x.test/new"]}}))
        .await
        .refused(422, "Invalid");
    assert!(message.contains("no new finalizers can be added"), "{message}");
    let undelete = rig.patch(MERGE, &path, json!({"metadata": {"deletionTimestamp": null}})).await.ok();
    assert!(undelete["metadata"]["deletionTimestamp"].is_string());

    rig.patch(MERGE, &path, json!({"metadata": {"finalizers": ["x.test/two"]}})).await.ok();
    let last = rig.patch(JSON, &path, json!([{"op": "remove", "path": "/metadata/finalizers/0"}])).await.ok();
    assert!(last["metadata"].get("finalizers").is_none());
    rig.get(&path).await.refused(404, "NotFound");
    let mut kinds = Vec::new();
    for _ in 0..3 {
        let event = watch.next().await.unwrap();
        kinds.push((
            event["type"].as_str().unwrap().to_string(),
            event["object"]["metadata"]["finalizers"].as_array().unwrap().len(),
        ));
    }
    // The last event shows the object as it was stored, before the write that let it go: so does the genuine server.
    assert_eq!(kinds, [("MODIFIED".into(), 2), ("MODIFIED".into(), 1), ("DELETED".into(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn preconditions_are_checked() {
    let rig = Rig::new();
    let created = rig.post(CONFIG_MAPS, config_map("a")).await.ok();
    let path = format!("{CONFIG_MAPS}/a");
    let message =
        rig.delete_with(&path, json!({"preconditions": {"uid": "other"}})).await.refused(409, "Conflict");
    assert!(message.contains("does not match the UID in record"), "{message}");
    rig.delete_with(&path, json!({"preconditions": {"resourceVersion": "1"}})).await.refused(409, "Conflict");
    rig.delete_with(&path, json!({"propagationPolicy": "Sideways"})).await.refused(422, "Invalid");
    let metadata = &created["metadata"];
    let right =
        json!({"preconditions": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}});
    rig.delete_with(&path, right).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_collection_goes_as_far_as_the_selectors_match() {
    let rig = Rig::new();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut object = config_map(name);
        object["metadata"]["labels"] = json!({"app": app});
        rig.post(CONFIG_MAPS, object).await.ok();
    }
    let deleted = rig.delete(&format!("{CONFIG_MAPS}?labelSelector=app%3Dx")).await.ok();
    assert_eq!(deleted["items"].as_array().unwrap().len(), 2);
    assert_eq!(rig.get(CONFIG_MAPS).await.ok()["items"].as_array().unwrap().len(), 1);
}
