//! Custom resources: serving, validation, conversion, deletion.

use serde_json::{Value, json};

use crate::client::*;

#[tokio::test(start_paused = true)]
async fn a_crd_is_established_and_served_at_once() {
    let client = TestClient::new();
    let crd = client.post(CRDS, widgets()).await.ok();
    assert_eq!(crd["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(crd["spec"]["conversion"]["strategy"], "None");
    assert_eq!(crd["status"]["acceptedNames"], crd["spec"]["names"]);
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    for (i, kind) in ["NamesAccepted", "Established"].into_iter().enumerate() {
        let condition = &crd["status"]["conditions"][i];
        assert_eq!((&condition["type"], &condition["status"]), (&json!(kind), &json!("True")));
    }
    client.post(WIDGETS, widget("a")).await.ok();
    let path = format!("{CRDS}/widgets.rig.test");
    assert_eq!(client.put(&path, crd.clone()).await.ok(), crd, "writing it again changes nothing");
}

#[tokio::test(start_paused = true)]
async fn objects_are_pruned_defaulted_and_validated() {
    let client = with_widgets().await;
    let mut object = widget("a");
    object["spec"]["colour"] = json!("typo");
    let reply = client.post(WIDGETS, object.clone()).await;
    assert_eq!(reply.warnings(), [r#"299 - "unknown field \"spec.colour\"""#]);
    assert_eq!(reply.ok()["spec"], json!({"color": "red", "replicas": 1}));
    object["metadata"]["name"] = json!("b");
    let message = client
        .post(&format!("{WIDGETS}?fieldValidation=Strict"), object.clone())
        .await
        .refused(400, "BadRequest");
    assert!(message.ends_with(r#"strict decoding error: unknown field "spec.colour""#), "{message}");
    let ignored = client.post(&format!("{WIDGETS}?fieldValidation=Ignore"), object).await;
    assert_eq!((ignored.code.as_u16(), ignored.warnings().len()), (201, 0));

    let wrong = json!({"apiVersion": "rig.test/v1", "kind": "Widget", "metadata": {"name": "c"}, "spec": {"replicas": "x"}});
    let reply = client.post(WIDGETS, wrong).await;
    let fields: Vec<_> = reply.body["details"]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["field"].as_str().unwrap().to_string())
        .collect();
    assert!(
        fields.contains(&"spec.color".to_string()) && fields.contains(&"spec.replicas".to_string()),
        "{fields:?}"
    );
    reply.refused(422, "Invalid");
    client.patch(MERGE, &format!("{WIDGETS}/a"), json!({"spec": {"color": 1}})).await.refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn the_type_is_required_and_checked() {
    let client = with_widgets().await;
    let message = client.post(WIDGETS, json!({"metadata": {"name": "a"}})).await.refused(400, "BadRequest");
    assert!(message.contains("Object 'Kind' is missing"), "{message}");
    let mut object = widget("a");
    object["kind"] = json!("Gadget");
    let message = client.post(WIDGETS, object.clone()).await.refused(422, "Invalid");
    assert!(message.contains("must be Widget"), "{message}");
    object["kind"] = json!("Widget");
    object["apiVersion"] = json!("rig.test/v2");
    client.post(WIDGETS, object).await.refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn versions_differ_in_name_only() {
    let client = TestClient::new();
    let mut crd = widgets();
    let mut v2 = crd["spec"]["versions"][0].clone();
    v2["name"] = json!("v2");
    v2["storage"] = json!(false);
    v2["deprecated"] = json!(true);
    crd["spec"]["versions"].as_array_mut().unwrap().push(v2);
    client.post(CRDS, crd).await.ok();
    client.post(WIDGETS, widget("a")).await.ok();
    let v2 = WIDGETS.replace("v1", "v2");
    let reply = client.get(&format!("{v2}/a")).await.ok();
    assert_eq!((&reply["apiVersion"], &reply["spec"]["color"]), (&json!("rig.test/v2"), &json!("red")));
    assert_eq!(client.get(&v2).await.ok()["items"][0]["apiVersion"], "rig.test/v2");
    let mut watch = client.watch(&format!("{v2}?watch=1")).await;
    assert_eq!(watch.next().await.unwrap()["object"]["apiVersion"], "rig.test/v2");
    let patched = client.patch(MERGE, &format!("{v2}/a"), json!({"spec": {"color": "blue"}})).await;
    assert_eq!(patched.warnings(), [r#"299 - "rig.test/v2 Widget is deprecated""#]);
    assert_eq!(client.get(&format!("{WIDGETS}/a")).await.ok()["apiVersion"], "rig.test/v1");
}

/// As with the placeholder of a CRD whose bundle another controller injects. Answers of Kubernetes 1.37.
#[tokio::test(start_paused = true)]
async fn a_crd_is_established_once_its_webhook_can_be_trusted() {
    let client = TestClient::new();
    let mut crd = widgets();
    crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"caBundle": "Cg==", "service": {"namespace": "default", "name": "hook"}}}});
    let created = client.post(CRDS, crd).await.ok();
    let established = |crd: &Value| {
        let condition = &crd["status"]["conditions"][1];
        assert_eq!(condition["type"], "Established");
        (condition["status"].as_str().unwrap().to_owned(), condition["reason"].as_str().unwrap().to_owned())
    };
    assert_eq!(established(&created), ("False".into(), "InvalidCABundle".into()));
    assert_eq!(client.get(WIDGETS).await.code, 404);
    let path = format!("{CRDS}/widgets.rig.test");
    let bundle =
        |text: Value| json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": text}}}}});
    client.patch(MERGE, &path, bundle(json!("bm9wZQ=="))).await.ok();
    let mended = client.patch(MERGE, &path, bundle(Value::Null)).await.ok();
    assert_eq!(established(&mended), ("True".into(), "InitialNamesAccepted".into()));
    client.get(WIDGETS).await.ok();
    let message = client.patch(MERGE, &path, bundle(json!("bm9wZQ=="))).await.refused(422, "Invalid");
    assert!(
        message.ends_with(
            r#"spec.conversion.webhookClientConfig.caBundle: Invalid value: "bm9wZQ==": unable to load root certificates: unable to parse bytes as PEM block"#
        ),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_crds_are_refused_with_all_causes() {
    let client = TestClient::new();
    let mut crd = widgets();
    crd["metadata"]["name"] = json!("other.rig.test");
    crd["spec"]["scope"] = json!("Galaxy");
    crd["spec"]["names"]["kind"] = json!("");
    crd["spec"]["versions"][0]["storage"] = json!(false);
    let reply = client.post(CRDS, crd).await;
    let fields: Vec<_> = reply.body["details"]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["field"].as_str().unwrap().to_string())
        .collect();
    for field in ["metadata.name", "spec.scope", "spec.versions", "spec.names.kind"] {
        assert!(fields.iter().any(|f| f == field), "{field} in {fields:?}");
    }
    reply.refused(422, "Invalid");

    let mut crd = widgets();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({"type": "strin"});
    let message = client.post(CRDS, crd).await.refused(422, "Invalid");
    assert!(
        message.contains("spec.validation.openAPIV3Schema.properties[spec].type: Unsupported value"),
        "{message}"
    );
    client.get(WIDGETS).await;
}

/// The responses of 1.37 to parts of a schema that may have several types.
#[tokio::test(start_paused = true)]
async fn parts_of_schemas_are_decoded_as_by_go() {
    let client = TestClient::new();
    let post = async |part: Value| {
        let mut crd = widgets();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["part"] = part;
        client.post(CRDS, crd).await
    };
    let path = "json: cannot unmarshal {} into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties";
    for (part, what, end) in [
        (json!({"items": [5]}), "number", "items of type v1.JSONSchemaProps"),
        (json!({"items": ["x"]}), "string", "items of type v1.JSONSchemaProps"),
        (json!({"items": [[]]}), "array", "items of type v1.JSONSchemaProps"),
        (json!({"items": [{"type": 5}]}), "number", "items.type of type string"),
        (json!({"dependencies": {"a": [5]}}), "number", "dependencies of type string"),
        (json!({"enum": 5}), "number", "enum of type []v1.JSON"),
    ] {
        let message = post(part).await.refused(400, "BadRequest");
        assert!(message.ends_with(&format!("{}.{end}", path.replace("{}", what))), "{message}");
    }
    for (items, end) in [
        (json!(5), "items: Required value: must be specified"),
        (json!([]), "items: Required value: must be specified"),
        (json!([null]), "items: Forbidden: items must be a schema object and not an array"),
    ] {
        let message = post(json!({"type": "array", "items": items})).await.refused(422, "Invalid");
        assert!(message.ends_with(&format!("openAPIV3Schema.properties[part].{end}")), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn immutable_fields_and_name_conflicts_are_refused() {
    let client = with_widgets().await;
    let path = format!("{CRDS}/widgets.rig.test");
    let scope =
        client.patch(MERGE, &path, json!({"spec": {"scope": "Cluster"}})).await.refused(422, "Invalid");
    assert!(scope.contains("spec.scope"), "{scope}");
    let mut conflicting = widgets();
    conflicting["metadata"]["name"] = json!("gadgets.rig.test");
    conflicting["spec"]["names"]["plural"] = json!("gadgets");
    let conflicting = client.post(CRDS, conflicting).await.ok();
    assert_eq!(conflicting["status"]["conditions"][0]["reason"], "SingularConflict");
    assert_eq!(conflicting["status"]["conditions"][1]["status"], "False");
    assert_eq!(client.get("/apis/rig.test/v1/namespaces/default/gadgets").await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn a_schema_change_applies_to_stored_objects() {
    let client = with_widgets().await;
    client.post(WIDGETS, widget("a")).await.ok();
    let before = client.get(&format!("{WIDGETS}/a")).await.ok();
    let add = json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size",
        "value": {"type": "integer", "default": 1}}]);
    client.patch(JSON, &format!("{CRDS}/widgets.rig.test"), add).await.ok();
    let after = client.get(&format!("{WIDGETS}/a")).await.ok();
    assert_eq!((&after["spec"]["size"], &before["spec"]["size"]), (&json!(1), &json!(null)));
    assert_eq!(after["metadata"], before["metadata"], "nothing was written");
    let sized = client.patch(MERGE, &format!("{WIDGETS}/a"), json!({"spec": {"size": 3}})).await.ok();
    assert_eq!(sized["spec"]["size"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_crd_deletes_its_objects_first() {
    let client = with_widgets().await;
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    client.post(WIDGETS, held).await.ok();
    client.post(WIDGETS, widget("free")).await.ok();
    let crd = format!("{CRDS}/widgets.rig.test");
    client.delete(&crd).await.ok();
    let waiting = client.get(&crd).await.ok();
    assert_eq!(waiting["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    client.get(&format!("{WIDGETS}/free")).await.refused(404, "NotFound");
    client.patch(MERGE, &format!("{WIDGETS}/held"), json!({"metadata": {"finalizers": []}})).await.ok();
    client.get(&crd).await.refused(404, "NotFound");
    assert_eq!(client.get(WIDGETS).await.code, 404);
    // It can be created again, and is empty.
    client.post(CRDS, widgets()).await.ok();
    assert_eq!(client.get(WIDGETS).await.ok()["items"], json!([]));
}

/// KEP-4008: errors accepted by an earlier schema stay until the field changes.
#[cfg(feature = "cel")]
#[tokio::test]
async fn errors_in_unchanged_fields_are_ratcheted() {
    let client = with_widgets().await;
    let mut loose = widget("a");
    loose["spec"]["color"] = "vermilion".into();
    client.post(WIDGETS, loose).await.ok();
    let path = format!("{CRDS}/widgets.rig.test");
    let mut definition = client.get(&path).await.ok();
    let color = json!({"type": "string", "maxLength": 3, "x-kubernetes-validations": [{"rule": "self != 'vermilion'"}]});
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"] =
        color;
    client.put(&path, definition).await.ok();
    let path = format!("{WIDGETS}/a");
    let changed = client.patch(MERGE, &path, json!({"spec": {"replicas": 3}})).await;
    assert_eq!(changed.warnings().len(), 1, "{:?}", changed.warnings());
    assert!(changed.warnings()[0].contains("failed rule: self != 'vermilion'"), "{:?}", changed.warnings());
    changed.ok();
    let message =
        client.patch(MERGE, &path, json!({"spec": {"color": "crimson"}})).await.refused(422, "Invalid");
    assert!(message.contains("spec.color: Too long"), "{message}");
    client.patch(MERGE, &path, json!({"spec": {"color": "red"}})).await.ok();
    client.post(WIDGETS, widget("b")).await.ok();
}

/// A definition with `a` in both versions and `b` only in v1, which is stored.
fn two_versions() -> serde_json::Value {
    let schema = |properties: serde_json::Value| json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}});
    let text = json!({"type": "string"});
    json!({"metadata": {"name": "flips.rig.test"}, "spec": {
        "group": "rig.test", "scope": "Namespaced", "names": {"plural": "flips", "kind": "Flip"},
        "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": schema(json!({"a": text, "b": text}))},
            {"name": "v2", "served": true, "storage": false, "schema": schema(json!({"a": text}))},
        ],
    }})
}

#[tokio::test]
async fn an_open_watch_goes_on_in_its_version_after_the_storage_version_changed() {
    let client = TestClient::new();
    client.post(CRDS, two_versions()).await.ok();
    let path = |version: &str| format!("/apis/rig.test/{version}/namespaces/default/flips");
    let mut watches = [
        client.watch(&format!("{}?watch=1", path("v1"))).await,
        client.watch(&format!("{}?watch=1", path("v2"))).await,
    ];
    let flip = |name: &str| json!({"apiVersion": "rig.test/v1", "kind": "Flip", "metadata": {"name": name}, "spec": {"a": "A", "b": "B"}});
    client.post(&path("v1"), flip("before")).await.ok();
    let crd = format!("{CRDS}/flips.rig.test");
    let change = json!([{"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true}]);
    client.patch(JSON, &crd, change).await.ok();
    client.post(&path("v1"), flip("after")).await.ok();
    for (watch, version, specs) in [
        (0, "rig.test/v1", [json!({"a": "A", "b": "B"}), json!({"a": "A"})]),
        (1, "rig.test/v2", [json!({"a": "A"}), json!({"a": "A"})]),
    ] {
        for spec in specs {
            let event = watches[watch].next().await.unwrap();
            assert_eq!((&event["object"]["apiVersion"], &event["object"]["spec"]), (&json!(version), &spec));
        }
    }
}

/// What was written stays on disk, in its version.
#[tokio::test]
async fn stored_versions_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open =
        || TestClient { api: kube_testserver::TestServer::builder().data(dir.path()).service().unwrap() };
    let client = open();
    client.post(CRDS, two_versions()).await.ok();
    let path = |version: &str| format!("/apis/rig.test/{version}/namespaces/default/flips");
    let flip = json!({"apiVersion": "rig.test/v1", "kind": "Flip", "metadata": {"name": "x"}, "spec": {"a": "A", "b": "B"}});
    client.post(&path("v1"), flip).await.ok();
    let crd = format!("{CRDS}/flips.rig.test");
    let change = json!([{"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
        {"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b"}]);
    client.patch(JSON, &crd, change).await.ok();
    drop(client);
    let client = open();
    let read = format!("{}/x", path("v1"));
    assert_eq!(client.get(&read).await.ok()["spec"], json!({"a": "A"}));
    let back = json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b", "value": {"type": "string"}}]);
    client.patch(JSON, &crd, back).await.ok();
    assert_eq!(client.get(&read).await.ok()["spec"], json!({"a": "A", "b": "B"}));
}

/// Like etcd's bytes: a write that changes nothing is stored if these differ from what it would store, and by that only.
#[tokio::test]
async fn a_write_without_changes_moves_an_object_to_the_storage_version() {
    let client = TestClient::new();
    client.post(CRDS, two_versions()).await.ok();
    let path = |version: &str| format!("/apis/rig.test/{version}/namespaces/default/flips");
    for name in ["patched", "put"] {
        let flip = json!({"apiVersion": "rig.test/v1", "kind": "Flip", "metadata": {"name": name}, "spec": {"a": "A"}});
        client.post(&path("v1"), flip).await.ok();
    }
    let change = json!([{"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true}]);
    client.patch(JSON, &format!("{CRDS}/flips.rig.test"), change).await.ok();
    let stored_in =
        |version: &str| client.api.snapshot().matches(&format!("\napiVersion: rig.test/{version}\n")).count();
    assert_eq!((stored_in("v1"), stored_in("v2")), (2, 0));
    for version in ["v1", "v2"] {
        let patched = format!("{}/patched", path(version));
        let before = client.get(&patched).await.ok();
        let precondition = json!({"metadata": {"uid": before["metadata"]["uid"], "resourceVersion": before["metadata"]["resourceVersion"]}});
        let after = client.patch(MERGE, &patched, precondition.clone()).await.ok();
        let is_written = before["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"];
        assert_eq!(is_written, version == "v1", "only the first write is one");
        if is_written {
            client.patch(MERGE, &patched, precondition).await.refused(409, "Conflict");
        }
    }
    let put = format!("{}/put", path("v1"));
    let before = client.get(&put).await.ok();
    let after = client.put(&put, before.clone()).await.ok();
    assert_ne!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    assert_eq!((stored_in("v1"), stored_in("v2")), (0, 2));
}
