//! Deletion: finalizers, grace periods, preconditions.

use serde_json::json;

use crate::client::*;

#[tokio::test(start_paused = true)]
async fn deletions_return_a_status_or_the_object() {
    let client = with_widgets().await;
    let created = client.post(WIDGETS, widget("a")).await.ok();
    let status = client.delete(&format!("{WIDGETS}/a")).await.ok();
    assert_eq!((&status["kind"], &status["status"]), (&json!("Status"), &json!("Success")));
    let details =
        json!({"name": "a", "group": "rig.test", "kind": "widgets", "uid": created["metadata"]["uid"]});
    assert_eq!(status["details"], details);
    client.delete(&format!("{WIDGETS}/a")).await.refused(404, "NotFound");
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    client.post(pods, pod).await.ok();
    assert_eq!(client.delete(&format!("{pods}/p")).await.ok()["kind"], "Pod");
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_is_removed() {
    let client = with_widgets().await;
    let mut object = widget("a");
    object["metadata"]["finalizers"] = json!(["x.test/one", "x.test/two"]);
    client.post(WIDGETS, object).await.ok();
    let mut watch =
        client.watch(&format!("{WIDGETS}?watch=1&resourceVersion={}", client.api.resource_version())).await;
    let path = format!("{WIDGETS}/a");

    let marked = client.delete(&path).await.ok();
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        (&marked["metadata"]["generation"], &marked["metadata"]["deletionGracePeriodSeconds"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(
        client.delete(&path).await.ok()["metadata"]["resourceVersion"],
        marked["metadata"]["resourceVersion"]
    );

    let message = client
        .patch(MERGE, &path, json!({"metadata": {"finalizers": ["x.test/one", "x.test/new"]}}))
        .await
        .refused(422, "Invalid");
    assert!(message.contains("no new finalizers can be added"), "{message}");
    let undelete = client.patch(MERGE, &path, json!({"metadata": {"deletionTimestamp": null}})).await.ok();
    assert!(undelete["metadata"]["deletionTimestamp"].is_string());

    client.patch(MERGE, &path, json!({"metadata": {"finalizers": ["x.test/two"]}})).await.ok();
    let last =
        client.patch(JSON, &path, json!([{"op": "remove", "path": "/metadata/finalizers/0"}])).await.ok();
    assert!(last["metadata"].get("finalizers").is_none());
    client.get(&path).await.refused(404, "NotFound");
    let mut kinds = Vec::new();
    for _ in 0..3 {
        let event = watch.next().await.unwrap();
        kinds.push((
            event["type"].as_str().unwrap().to_string(),
            event["object"]["metadata"]["finalizers"].as_array().unwrap().len(),
        ));
    }
    // As on genuine servers, the last event shows the object before the write that removed the finalizer.
    assert_eq!(kinds, [("MODIFIED".into(), 2), ("MODIFIED".into(), 1), ("DELETED".into(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn preconditions_are_checked() {
    let client = TestClient::new();
    let created = client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let path = format!("{CONFIG_MAPS}/a");
    let message =
        client.delete_with(&path, json!({"preconditions": {"uid": "other"}})).await.refused(409, "Conflict");
    assert!(message.contains("does not match the UID in record"), "{message}");
    client
        .delete_with(&path, json!({"preconditions": {"resourceVersion": "1"}}))
        .await
        .refused(409, "Conflict");
    client.delete_with(&path, json!({"propagationPolicy": "Sideways"})).await.refused(422, "Invalid");
    let metadata = &created["metadata"];
    let right =
        json!({"preconditions": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}});
    client.delete_with(&path, right).await.ok();
}

#[tokio::test(start_paused = true)]
async fn delete_collection_deletes_what_the_selectors_match() {
    let client = TestClient::new();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut object = config_map(name);
        object["metadata"]["labels"] = json!({"app": app});
        client.post(CONFIG_MAPS, object).await.ok();
    }
    let deleted = client.delete(&format!("{CONFIG_MAPS}?labelSelector=app%3Dx")).await.ok();
    assert_eq!(deleted["items"].as_array().unwrap().len(), 2);
    assert_eq!(client.get(CONFIG_MAPS).await.ok()["items"].as_array().unwrap().len(), 1);
}

/// As Kubernetes 1.37.
#[tokio::test(start_paused = true)]
async fn options_of_a_body_replace_those_of_the_query() {
    let client = TestClient::new();
    for name in ["a", "b"] {
        client.post(CONFIG_MAPS, config_map(name)).await.ok();
    }
    client.delete(&format!("{CONFIG_MAPS}/a?dryRun=All")).await.ok();
    client.get(&format!("{CONFIG_MAPS}/a")).await.ok();
    for (query, value) in [("dryRun=", "[\"\"]"), ("dryRun=x", "[\"x\"]")] {
        let message = client.delete(&format!("{CONFIG_MAPS}/a?{query}")).await.refused(422, "Invalid");
        assert!(message.contains(&format!("dryRun: Unsupported value: {value}")), "{message}");
    }
    client.delete(&format!("{CONFIG_MAPS}/a?propagationPolicy=")).await.refused(422, "Invalid");
    client.delete(&format!("{CONFIG_MAPS}/a?gracePeriodSeconds=")).await.refused(400, "BadRequest");
    for (options, why) in [
        (json!({"dryRun": "All"}), "string into Go struct field DeleteOptions.dryRun of type []string"),
        (
            json!({"gracePeriodSeconds": "0"}),
            "string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            json!({"preconditions": {"uid": 1}}),
            "number into Go struct field Preconditions.preconditions.uid of type types.UID",
        ),
        (
            json!({"preconditions": 1}),
            "number into Go struct field DeleteOptions.preconditions of type v1.Preconditions",
        ),
        (
            json!({"propagationPolicy": 1}),
            "number into Go struct field DeleteOptions.propagationPolicy of type v1.DeletionPropagation",
        ),
    ] {
        let message =
            client.delete_with(&format!("{CONFIG_MAPS}/a"), options).await.refused(400, "BadRequest");
        assert_eq!(message, format!("json: cannot unmarshal {why}"));
    }
    client.delete_with(&format!("{CONFIG_MAPS}/b?dryRun=All"), json!({})).await.ok();
    client.get(&format!("{CONFIG_MAPS}/b")).await.refused(404, "NotFound");
}
