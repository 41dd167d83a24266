use serde_json::json;

use crate::rig::*;

#[tokio::test(start_paused = true)]
async fn a_crd_is_established_and_served_at_once() {
    let rig = Rig::new();
    let crd = rig.post(CRDS, widgets()).await.ok();
    assert_eq!(crd["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(crd["spec"]["conversion"]["strategy"], "None");
    assert_eq!(crd["status"]["acceptedNames"], crd["spec"]["names"]);
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    for (i, kind) in ["NamesAccepted", "Established"].into_iter().enumerate() {
        let condition = &crd["status"]["conditions"][i];
        assert_eq!((&condition["type"], &condition["status"]), (&json!(kind), &json!("True")));
    }
    rig.post(WIDGETS, widget("a")).await.ok();
    let path = format!("{CRDS}/widgets.rig.test");
    assert_eq!(rig.put(&path, crd.clone()).await.ok(), crd, "writing it again changes nothing");
}

#[tokio::test(start_paused = true)]
async fn objects_are_pruned_defaulted_and_validated() {
    let rig = with_widgets().await;
    let mut object = widget("a");
    object["spec"]["colour"] = json!("typo");
    let reply = rig.post(WIDGETS, object.clone()).await;
    assert_eq!(reply.warnings(), [r#"299 - "unknown field \"spec.colour\"""#]);
    assert_eq!(reply.ok()["spec"], json!({"color": "red", "replicas": 1}));
    object["metadata"]["name"] = json!("b");
    let message = rig
        .post(&format!("{WIDGETS}?fieldValidation=Strict"), object.clone())
        .await
        .refused(400, "BadRequest");
    assert!(message.ends_with(r#"strict decoding error: unknown field "spec.colour""#), "{message}");
    let ignored = rig.post(&format!("{WIDGETS}?fieldValidation=Ignore"), object).await;
    assert_eq!((ignored.code.as_u16(), ignored.warnings().len()), (201, 0));

    let wrong = json!({"apiVersion": "rig.test/v1", "kind": "Widget", "metadata": {"name": "c"}, "spec": {"replicas": "x"}});
    let reply = rig.post(WIDGETS, wrong).await;
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
    rig.patch(MERGE, &format!("{WIDGETS}/a"), json!({"spec": {"color": 1}})).await.refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn the_type_has_to_be_there_and_right() {
    let rig = with_widgets().await;
    let message = rig.post(WIDGETS, json!({"metadata": {"name": "a"}})).await.refused(400, "BadRequest");
    assert!(message.contains("Object 'Kind' is missing"), "{message}");
    let mut object = widget("a");
    object["kind"] = json!("Gadget");
    let message = rig.post(WIDGETS, object.clone()).await.refused(422, "Invalid");
    assert!(message.contains("must be Widget"), "{message}");
    object["kind"] = json!("Widget");
    object["apiVersion"] = json!("rig.test/v2");
    rig.post(WIDGETS, object).await.refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn versions_differ_in_name_only() {
    let rig = Rig::new();
    let mut crd = widgets();
    let mut v2 = crd["spec"]["versions"][0].clone();
    v2["name"] = json!("v2");
    v2["storage"] = json!(false);
    v2["deprecated"] = json!(true);
    crd["spec"]["versions"].as_array_mut().unwrap().push(v2);
    rig.post(CRDS, crd).await.ok();
    rig.post(WIDGETS, widget("a")).await.ok();
    let v2 = WIDGETS.replace("v1", "v2");
    let reply = rig.get(&format!("{v2}/a")).await.ok();
    assert_eq!((&reply["apiVersion"], &reply["spec"]["color"]), (&json!("rig.test/v2"), &json!("red")));
    assert_eq!(rig.get(&v2).await.ok()["items"][0]["apiVersion"], "rig.test/v2");
    let mut watch = rig.watch(&format!("{v2}?watch=1")).await;
    assert_eq!(watch.next().await.unwrap()["object"]["apiVersion"], "rig.test/v2");
    let patched = rig.patch(MERGE, &format!("{v2}/a"), json!({"spec": {"color": "blue"}})).await;
    assert_eq!(patched.warnings(), [r#"299 - "rig.test/v2 Widget is deprecated""#]);
    assert_eq!(rig.get(&format!("{WIDGETS}/a")).await.ok()["apiVersion"], "rig.test/v1");
}

#[tokio::test(start_paused = true)]
async fn bad_definitions_are_refused_with_all_their_causes() {
    let rig = Rig::new();
    let mut crd = widgets();
    crd["metadata"]["name"] = json!("other.rig.test");
    crd["spec"]["scope"] = json!("Galaxy");
    crd["spec"]["names"]["kind"] = json!("");
    crd["spec"]["versions"][0]["storage"] = json!(false);
    let reply = rig.post(CRDS, crd).await;
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
    let message = rig.post(CRDS, crd).await.refused(422, "Invalid");
    assert!(
        message.contains("spec.validation.openAPIV3Schema.properties[spec].type: Unsupported value"),
        "{message}"
    );
    rig.get(WIDGETS).await;
}

#[tokio::test(start_paused = true)]
async fn some_things_cannot_change_and_names_cannot_clash() {
    let rig = with_widgets().await;
    let path = format!("{CRDS}/widgets.rig.test");
    let scope = rig.patch(MERGE, &path, json!({"spec": {"scope": "Cluster"}})).await.refused(422, "Invalid");
    assert!(scope.contains("spec.scope"), "{scope}");
    let mut twin = widgets();
    twin["metadata"]["name"] = json!("gadgets.rig.test");
    twin["spec"]["names"]["plural"] = json!("gadgets");
    let twin = rig.post(CRDS, twin).await.ok();
    assert_eq!(twin["status"]["conditions"][0]["reason"], "SingularConflict");
    assert_eq!(twin["status"]["conditions"][1]["status"], "False");
    assert_eq!(rig.get("/apis/rig.test/v1/namespaces/default/gadgets").await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn a_schema_change_counts_for_what_was_there_before() {
    let rig = with_widgets().await;
    rig.post(WIDGETS, widget("a")).await.ok();
    let before = rig.get(&format!("{WIDGETS}/a")).await.ok();
    let add = json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size",
        "value": {"type": "integer", "default": 1}}]);
    rig.patch(JSON, &format!("{CRDS}/widgets.rig.test"), add).await.ok();
    let after = rig.get(&format!("{WIDGETS}/a")).await.ok();
    assert_eq!((&after["spec"]["size"], &before["spec"]["size"]), (&json!(1), &json!(null)));
    assert_eq!(after["metadata"], before["metadata"], "nothing was written");
    let sized = rig.patch(MERGE, &format!("{WIDGETS}/a"), json!({"spec": {"size": 3}})).await.ok();
    assert_eq!(sized["spec"]["size"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_definition_takes_its_objects_first() {
    let rig = with_widgets().await;
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    rig.post(WIDGETS, held).await.ok();
    rig.post(WIDGETS, widget("free")).await.ok();
    let crd = format!("{CRDS}/widgets.rig.test");
    rig.delete(&crd).await.ok();
    let waiting = rig.get(&crd).await.ok();
    assert_eq!(waiting["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    rig.get(&format!("{WIDGETS}/free")).await.refused(404, "NotFound");
    rig.patch(MERGE, &format!("{WIDGETS}/held"), json!({"metadata": {"finalizers": []}})).await.ok();
    rig.get(&crd).await.refused(404, "NotFound");
    assert_eq!(rig.get(WIDGETS).await.code, 404);
    // It can come again, empty.
    rig.post(CRDS, widgets()).await.ok();
    assert_eq!(rig.get(WIDGETS).await.ok()["items"], json!([]));
}

/// KEP-4008: what was let in under an earlier schema stays, until it is changed.
#[tokio::test]
async fn what_a_stricter_schema_finds_in_unchanged_places_is_tolerated() {
    let rig = with_widgets().await;
    let mut loose = widget("a");
    loose["spec"]["color"] = "vermilion".into();
    rig.post(WIDGETS, loose).await.ok();
    let path = format!("{CRDS}/widgets.rig.test");
    let mut definition = rig.get(&path).await.ok();
    let color = json!({"type": "string", "maxLength": 3, "x-kubernetes-validations": [{"rule": "self != 'vermilion'"}]});
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"] =
        color;
    rig.put(&path, definition).await.ok();
    let path = format!("{WIDGETS}/a");
    let changed = rig.patch(MERGE, &path, json!({"spec": {"replicas": 3}})).await;
    assert_eq!(changed.warnings().len(), 1, "{:?}", changed.warnings());
    assert!(changed.warnings()[0].contains("failed rule: self != 'vermilion'"), "{:?}", changed.warnings());
    changed.ok();
    let message =
        rig.patch(MERGE, &path, json!({"spec": {"color": "crimson"}})).await.refused(422, "Invalid");
    assert!(message.contains("spec.color: Too long"), "{message}");
    rig.patch(MERGE, &path, json!({"spec": {"color": "red"}})).await.ok();
    rig.post(WIDGETS, widget("b")).await.ok();
}
