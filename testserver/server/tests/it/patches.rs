//! Patches and server-side apply over HTTP.

use serde_json::json;

use crate::client::*;

#[tokio::test(start_paused = true)]
async fn merge_patches_merge_and_remove() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let path = format!("{CONFIG_MAPS}/a");
    let patched = client.patch(MERGE, &path, json!({"data": {"k": null, "l": "w"}})).await.ok();
    assert_eq!(patched["data"], json!({"l": "w"}));
    let stale = json!({"metadata": {"resourceVersion": "1"}, "data": {"l": "x"}});
    client.patch(MERGE, &path, stale).await.refused(409, "Conflict");
    client.patch(MERGE, &path, json!({"metadata": {"name": "b"}})).await.refused(400, "BadRequest");
    client.patch(MERGE, &path, json!({"kind": "Secret"})).await.refused(422, "Invalid");
    client.patch(MERGE, &format!("{CONFIG_MAPS}/gone"), json!({})).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn json_patches_test_and_fail_as_a_whole() {
    let client = TestClient::new();
    let first = client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let path = format!("{CONFIG_MAPS}/a");
    let failing = json!([{"op": "replace", "path": "/data/k", "value": "w"}, {"op": "test", "path": "/data/k", "value": "v"}]);
    client.patch(JSON, &path, failing).await.refused(422, "Invalid");
    assert_eq!(client.get(&path).await.ok(), first);
    let good = json!([{"op": "test", "path": "/data/k", "value": "v"}, {"op": "add", "path": "/data/l", "value": "w"}]);
    assert_eq!(client.patch(JSON, &path, good).await.ok()["data"], json!({"k": "v", "l": "w"}));
    client.patch(JSON, &path, json!({"op": "add"})).await.refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn apply_creates_merges_and_removes() {
    let client = TestClient::new();
    let path = format!("{CONFIG_MAPS}/a?fieldManager=one");
    let apply = |data: serde_json::Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
    let reply = client.patch(APPLY, &path, apply(json!({"x": "1", "y": "1"}))).await;
    assert_eq!(reply.code, 201);
    let created = reply.ok();
    let owner = &created["metadata"]["managedFields"][0];
    assert_eq!((&owner["manager"], &owner["operation"]), (&json!("one"), &json!("Apply")));

    let reply = client.patch(APPLY, &path, apply(json!({"x": "1", "y": "1"}))).await;
    assert_eq!(reply.code, 200);
    assert_eq!(reply.ok()["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);

    let other = path.replace("one", "two");
    let conflict = client.patch(APPLY, &other, apply(json!({"x": "2"}))).await;
    assert_eq!(conflict.body["details"]["causes"][0]["field"], ".data.x");
    let message = conflict.refused(409, "Conflict");
    assert_eq!(message, "Apply failed with 1 conflict: conflict with \"one\": .data.x");
    let forced = client.patch(APPLY, &format!("{other}&force=true"), apply(json!({"x": "2"}))).await.ok();
    assert_eq!(forced["data"], json!({"x": "2", "y": "1"}));

    let given_up = client.patch(APPLY, &path, apply(json!({}))).await.ok();
    assert_eq!(given_up["data"], json!({"x": "2"}));
}

#[tokio::test(start_paused = true)]
async fn apply_needs_a_manager_and_a_type() {
    let client = with_widgets().await;
    let path = format!("{WIDGETS}/a");
    let message = client.patch(APPLY, &path, widget("a")).await.refused(422, "Invalid");
    assert!(message.contains("fieldManager: Required value"), "{message}");
    let path = format!("{path}?fieldManager=me");
    client.patch(APPLY, &path, json!({"spec": {"color": "red"}})).await.refused(400, "BadRequest");
    let unknown = client
        .patch(APPLY, &path, json!({"apiVersion": "rig.test/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"colr": 1}}))
        .await;
    assert_eq!(unknown.code, 500);
    assert!(unknown.body["message"].as_str().unwrap().contains(".spec.colr: field not declared in schema"));
    let yaml = "apiVersion: rig.test/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n  color: green\n";
    let applied = client.send("PATCH", &path, &[("content-type", APPLY)], yaml).await.ok();
    assert_eq!(applied["spec"], json!({"color": "green", "replicas": 1}));
    let status = json!({"apiVersion": "rig.test/v1", "kind": "Widget", "status": {"phase": "up"}});
    let applied = client.patch(APPLY, &format!("{WIDGETS}/a/status?fieldManager=ctl"), status).await.ok();
    assert_eq!((&applied["status"]["phase"], &applied["spec"]["color"]), (&json!("up"), &json!("green")));
}

#[tokio::test(start_paused = true)]
async fn apply_uses_the_configuration_as_sent() {
    let client = with_widgets().await;
    let path = format!("{WIDGETS}/a?fieldManager=m");
    let mut config = widget("a");
    config["spec"]["color"] = json!(null);
    let message = client.patch(APPLY, &path, config.clone()).await.refused(422, "Invalid");
    assert!(message.contains(r#"spec.color in body must be of type string: "null""#), "{message}");
    config["spec"] = json!({"replicas": "many"});
    let reply = client.patch(APPLY, &path, config).await;
    assert_eq!(reply.code, 500);
    let message = reply.body["message"].as_str().unwrap();
    assert!(message.contains("typed patch object (/a; rig.test/v1, Kind=Widget)"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn apply_that_drops_the_last_finalizer_removes_the_object() {
    let client = with_widgets().await;
    let path = format!("{WIDGETS}/a?fieldManager=me");
    let mut object = widget("a");
    object["metadata"]["finalizers"] = json!(["x.test/mine"]);
    client.patch(APPLY, &path, object).await.ok();
    client.delete(&format!("{WIDGETS}/a")).await.ok();
    client.patch(APPLY, &path, widget("a")).await.ok();
    client.get(&format!("{WIDGETS}/a")).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn strategic_patches_merge_lists_by_key() {
    let client = TestClient::new();
    let container = |name: &str, image: &str| json!({"name": name, "image": image});
    let template = |containers: serde_json::Value| json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}});
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}},
        "template": template(json!([container("one", "i:1"), container("two", "i:1")]))}});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    client.post(deployments, deployment).await.ok();
    let patch = json!({"spec": {"template": {"spec": {"containers": [container("two", "i:2")]}}}});
    let patched =
        client.patch("application/strategic-merge-patch+json", &format!("{deployments}/d"), patch).await.ok();
    let images: Vec<_> = patched["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["image"].as_str().unwrap())
        .collect();
    assert_eq!((images, &patched["metadata"]["generation"]), (vec!["i:1", "i:2"], &json!(2)));
}

#[tokio::test(start_paused = true)]
async fn refused_formats_list_the_accepted_ones() {
    let client = with_widgets().await;
    client.post(WIDGETS, widget("a")).await.ok();
    let message = client
        .patch("application/strategic-merge-patch+json", &format!("{WIDGETS}/a"), json!({}))
        .await
        .refused(415, "UnsupportedMediaType");
    assert!(message.ends_with(
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    ));
    client.patch("text/plain", &format!("{WIDGETS}/a"), json!({})).await.refused(415, "UnsupportedMediaType");
}

/// As Kubernetes 1.37.
#[tokio::test(start_paused = true)]
async fn strategic_patches_ignore_the_type_of_the_object() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("typed")).await.ok();
    let path = format!("{CONFIG_MAPS}/typed?dryRun=All");
    let strategic = "application/strategic-merge-patch+json";
    for patch in [json!({"kind": "Secret"}), json!({"apiVersion": "v2"}), json!({"kind": null}), json!(null)]
    {
        let patched = client.patch(strategic, &path, patch).await.ok();
        assert_eq!((&patched["kind"], &patched["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
    }
    client.patch(MERGE, &path, json!({"kind": "Secret"})).await.refused(422, "Invalid");
    for (patch, why) in [
        (json!({"kind": 1}), "\"map[kind:1]\": cannot convert int64 to string"),
        (json!({"data": "x"}), "\"map[data:x]\": cannot restore map from string"),
    ] {
        let message = client.patch(strategic, &path, patch).await.refused(422, "Invalid");
        assert_eq!(message, format!(" \"\" is invalid: patch: Invalid value: {why}"));
    }
    let whole = json!([{"op": "replace", "path": "", "value": []}]);
    let message = client.patch(JSON, &path, whole).await.refused(422, "Invalid");
    assert!(
        message.starts_with(
            " \"\" is invalid: patch: Invalid value: \"[]\": couldn't get version/kind; json parse error"
        ),
        "{message}"
    );
}

/// The responses of 1.37, also to those patches.
#[tokio::test(start_paused = true)]
async fn patches_with_wrong_embedded_objects_are_refused() {
    let client = TestClient::new();
    let mut crd = widgets();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["part"] = json!({"type": "object",
        "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    client.post(CRDS, crd).await.ok();
    client.post(WIDGETS, widget("a")).await.ok();
    let path = format!("{WIDGETS}/a");
    let part = |metadata: serde_json::Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
    let apply = async |metadata: serde_json::Value| {
        let mut config = widget("a");
        config["part"] = part(metadata);
        client.patch(APPLY, &format!("{path}?fieldManager=m&force=true"), config).await
    };
    let time = r#"part.metadata: Invalid value: {"creationTimestamp":"x"}: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#;
    let number =
        "part.metadata: Invalid value: 5: json: cannot unmarshal number into Go value of type v1.ObjectMeta";
    for (metadata, why) in [(json!(5), number), (json!({"creationTimestamp": "x"}), time)] {
        let message =
            client.patch(MERGE, &path, json!({"part": part(metadata.clone())})).await.refused(422, "Invalid");
        assert!(
            message.starts_with(" \"\" is invalid: patch: Invalid value:") && message.ends_with(why),
            "{message}"
        );
        let patch = json!([{"op": "add", "path": "/part", "value": part(metadata)}]);
        let message = client.patch(JSON, &path, patch).await.refused(422, "Invalid");
        assert!(
            message.starts_with(" \"\" is invalid: patch: Invalid value:") && message.ends_with(why),
            "{message}"
        );
    }
    let reply = apply(json!(5)).await;
    let message = reply.body["message"].as_str().unwrap();
    assert!(reply.code == 500 && message.ends_with(".part.metadata: expected map, got &{5}"), "{message}");
    let message = apply(json!({"creationTimestamp": "x"})).await.refused(422, "Invalid");
    assert_eq!(message, format!("Widget.rig.test \"a\" is invalid: {time}"));
}
