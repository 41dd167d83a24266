//! [`extract`](crate::apply::extract()): trees of managed fields as servers write them.

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};

use crate::{
    DynamicObject,
    apply::{ExtractError, extract},
};

fn entry(manager: &str, operation: &str, fields: Value) -> Value {
    json!({ "manager": manager, "operation": operation, "apiVersion": "e.io/v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
}

fn object(fields: Value, entries: &[Value]) -> DynamicObject {
    let mut object = json!({ "apiVersion": "e.io/v1", "kind": "Page", "metadata": { "name": "a", "namespace": "shop", "uid": "u" } });
    object["metadata"]["managedFields"] = json!(entries);
    let Value::Object(fields) = fields else { unreachable!() };
    object.as_object_mut().unwrap().extend(fields);
    serde_json::from_value(object).unwrap()
}

/// The fields besides those that identify the object.
fn extracted(object: &DynamicObject, manager: &str, subresource: Option<&str>) -> Value {
    let mut json = json!(extract(object, manager, subresource).unwrap());
    assert_eq!((&json["apiVersion"], &json["kind"]), (&json!("e.io/v1"), &json!("Page")));
    let fields = json.as_object_mut().unwrap();
    fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind"));
    let metadata = fields["metadata"].as_object_mut().unwrap();
    assert_eq!(
        (metadata.remove("name"), metadata.remove("namespace")),
        (Some(json!("a")), Some(json!("shop")))
    );
    if metadata.is_empty() {
        fields.remove("metadata");
    }
    json
}

fn applied(fields: Value, owned: Value) -> Value {
    extracted(&object(fields, &[entry("me", "Apply", owned)]), "me", None)
}

#[test]
fn owned_fields_are_taken_and_others_are_not() {
    let spec = json!({ "spec": { "a": 1, "b": { "x": 1, "y": 2 }, "c": "no" }, "other": true });
    let owned = json!({ "f:metadata": { "f:labels": { "f:gone": {} } },
        "f:spec": { "f:a": {}, "f:b": { ".": {}, "f:y": {} }, "f:gone": { "f:x": {} } } });
    let expected = json!({ "metadata": {}, "spec": { "a": 1, "b": { "y": 2 } } });
    let taken = applied(spec, owned);
    assert_eq!(taken["spec"], expected["spec"]);
    assert!(taken.get("other").is_none());
}

#[test]
fn a_leaf_is_a_whole_value_unless_others_own_parts_of_it() {
    let fields = || json!({ "spec": { "selector": { "app": "a" }, "list": [{ "name": "x" }] } });
    let leaf = json!({ "f:spec": { "f:selector": {}, "f:list": {} } });
    assert_eq!(applied(fields(), leaf.clone()), fields());
    let others = json!({ "f:spec": { "f:selector": { "f:app": {} }, "f:list": { "k:{\"name\":\"x\"}": { ".": {} } } } });
    let shared = object(fields(), &[entry("me", "Apply", leaf), entry("other", "Update", others)]);
    assert_eq!(extracted(&shared, "me", None), json!({ "spec": { "selector": {}, "list": [] } }));
}

#[test]
fn a_key_that_was_left_to_its_default_stays_out() {
    let ports = json!({ "ports": [{ "port": 80, "protocol": "TCP", "name": "http" }, { "port": 80, "protocol": "UDP" }] });
    let node = json!({ "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} } } });
    assert_eq!(applied(ports.clone(), node), json!({ "ports": [{ "port": 80 }] }));
    // As an update owns it.
    let node = json!({ "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { "f:name": {} } } });
    assert_eq!(applied(ports, node), json!({ "ports": [{ "port": 80, "protocol": "TCP", "name": "http" }] }));
}

#[test]
fn items_keep_the_order_of_the_list_and_occur_once() {
    let fields = json!({ "set": ["c", "a", "b", "a"], "list": [{ "name": "b", "x": 1 }, { "name": "a" }, { "name": "b", "x": 2 }] });
    let owned = json!({
        "f:set": { "v:\"a\"": {}, "v:\"c\"": {}, "v:\"gone\"": {} },
        "f:list": { "k:{\"name\":\"a\"}": { ".": {}, "f:name": {} }, "k:{\"name\":\"b\"}": { ".": {}, "f:name": {}, "f:x": {} } },
    });
    let expected = json!({ "set": ["c", "a"], "list": [{ "name": "b", "x": 1 }, { "name": "a" }] });
    assert_eq!(applied(fields, owned), expected);
}

#[test]
fn only_the_entry_of_an_apply_of_this_manager_counts() {
    let fields = json!({ "spec": { "a": 1 }, "status": { "b": 2 } });
    let (spec, status) = (json!({ "f:spec": { "f:a": {} } }), json!({ "f:status": { "f:b": {} } }));
    let mut of_status = entry("me", "Apply", status.clone());
    of_status["subresource"] = json!("status");
    let live = object(
        fields.clone(),
        &[of_status, entry("me", "Update", spec.clone()), entry("other", "Apply", spec.clone())],
    );
    assert_eq!(extracted(&live, "me", None), json!({}), "it only identifies the object");
    assert_eq!(extracted(&live, "me", Some("status")), json!({ "status": { "b": 2 } }));
    assert_eq!(extracted(&live, "me", Some("scale")), json!({}));

    // Servers before 1.22: no subresource.
    let both = json!({ "f:spec": spec["f:spec"], "f:status": status["f:status"] });
    let old = object(fields, &[entry("me", "Apply", both)]);
    assert_eq!(extracted(&old, "me", Some("status")), json!({ "status": { "b": 2 } }));
    assert_eq!(extracted(&old, "me", Some("scale")), json!({}));
}

#[test]
fn what_is_unknown_is_an_error_and_never_an_empty_configuration() {
    let message = |object: &DynamicObject| extract(object, "me", None).unwrap_err().to_string();
    let owned = json!({ "f:spec": {} });
    let pruned = object(json!({ "spec": 1 }), &[]);
    assert!(matches!(extract(&pruned, "me", None), Err(ExtractError::NoManagedFields { .. })));
    assert_eq!(
        message(&pruned),
        "Page a in namespace shop has no metadata.managedFields: expected an object that was read with them"
    );
    let mut other = entry("me", "Apply", owned.clone());
    other["apiVersion"] = json!("e.io/v2");
    assert_eq!(
        message(&object(json!({}), &[other])),
        "\"me\" has applied Page a in namespace shop as e.io/v2: expected an object that was read as e.io/v2, not as e.io/v1"
    );
    for odd in [json!("odd"), Value::Null] {
        let error = extract(&object(json!({}), &[entry("me", "Apply", odd)]), "me", None).unwrap_err();
        assert!(matches!(error, ExtractError::NoFields { .. }), "{error}");
    }
    let untyped = DynamicObject { types: None, ..object(json!({}), &[entry("me", "Apply", owned)]) };
    assert_eq!(message(&untyped), "the object a has no apiVersion and kind");
}

#[test]
fn trees_that_do_not_fit_the_object_are_left_out() {
    let fields = json!({ "a": 1, "b": [1], "c": { "x": 1 } });
    let owned = json!({
        "f:a": { "f:x": {} }, "f:b": { "k:not json": {}, "v:not json": {}, "odd": {} }, "f:c": { "f:x": "odd", "i:0": {} }, "odd": {},
    });
    assert_eq!(applied(fields, owned), json!({ "b": [], "c": {} }));
}

#[test]
fn typed_objects_are_extracted_too() {
    let live: Deployment = serde_json::from_value(json!({
        "metadata": { "name": "web", "managedFields": [{ "manager": "me", "operation": "Apply", "apiVersion": "apps/v1",
            "fieldsV1": { "f:spec": { "f:replicas": {} } } }] },
        "spec": { "replicas": 3, "selector": {}, "template": {} },
    }))
    .unwrap();
    let expected = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": { "replicas": 3 } });
    assert_eq!(json!(extract(&live, "me", None).unwrap()), expected);
}
