//! Tests of the comparison. What a server records is checked in `tests/it/apply.rs`.

use super::compare::{
    Comparison::{self, MayDiffer, Unchanged},
    compare,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use serde_json::{Value, json};

fn entry(fields: Value) -> ManagedFieldsEntry {
    ManagedFieldsEntry {
        manager: Some("me".into()),
        operation: Some("Apply".into()),
        api_version: Some("v1".into()),
        fields_v1: Some(FieldsV1(fields)),
        ..Default::default()
    }
}

/// Compares the specs of a current object and a patch, of which "me" owns `fields` of the spec.
fn of_spec(fields: Value, current: Value, patch: Value) -> Comparison {
    let fields = json!({ "f:spec": fields });
    let current = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "uid": "1" }, "spec": current });
    let patch = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": "a" }, "spec": patch });
    compare(&current, &[entry(fields)], &patch, "me", None)
}

#[test]
fn only_the_fields_of_the_patch_are_compared() {
    let fields = || json!({ "f:a": {}, "f:b": {} });
    let of = |current, patch| of_spec(fields(), current, patch);
    assert_eq!(of(json!({ "a": 1, "b": [1], "other": 5 }), json!({ "a": 1, "b": [1] })), Unchanged);
    assert_eq!(of(json!({ "a": 2, "b": [1] }), json!({ "a": 1, "b": [1] })), MayDiffer, "another value");
    assert_eq!(of(json!({ "b": [1] }), json!({ "a": 1, "b": [1] })), MayDiffer, "removed by another manager");
    assert_eq!(
        of(json!({ "a": 1, "b": [1, 2] }), json!({ "a": 1, "b": [1] })),
        MayDiffer,
        "a list owned as a whole"
    );
    assert_eq!(of(json!({ "a": 1, "b": [1] }), json!({ "a": 1 })), MayDiffer, "b is to be removed");
    assert_eq!(of(json!({ "a": 1, "b": [1] }), json!({ "a": 1, "b": null })), MayDiffer, "null is absent");
    assert_eq!(
        of(json!({ "a": 1, "b": [1], "c": 1 }), json!({ "a": 1, "b": [1], "c": 1 })),
        MayDiffer,
        "c is not owned yet"
    );
}

#[test]
fn items_of_a_list_are_found_by_their_keys() {
    let fields = || {
        json!({ "f:ports": {
            "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {}, "f:name": {} },
            "k:{\"port\":443,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} },
        } })
    };
    let port =
        |port: u16, name: &str| json!({ "port": port, "name": name, "protocol": "TCP", "targetPort": port });
    let current = || json!({ "ports": [port(1, "theirs"), port(80, "web"), port(443, "")] });
    let of = |patch: Value| of_spec(fields(), current(), json!({ "ports": patch }));
    let (web, tls) = (json!({ "port": 80, "name": "web" }), json!({ "port": 443 }));
    assert_eq!(of(json!([web, tls])), Unchanged, "the protocol is a default");
    assert_eq!(of(json!([tls, web])), MayDiffer, "another order");
    assert_eq!(of(json!([web])), MayDiffer, "443 is to be removed");
    assert_eq!(of(json!([web, tls, { "port": 8080 }])), MayDiffer, "8080 is to be added");
    assert_eq!(of(json!([{ "port": 80, "name": "http" }, tls])), MayDiffer);
    assert_eq!(of(json!([web, web])), MayDiffer, "not two for one");
    assert_eq!(of(json!(["web", tls])), MayDiffer, "not an object");
    assert_eq!(of(json!({ "web": 80 })), MayDiffer, "not a list");
}

#[test]
fn a_key_that_could_be_several_items_is_not_guessed() {
    let fields = json!({ "f:ports": {
        "k:{\"port\":53,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} },
        "k:{\"port\":53,\"protocol\":\"UDP\"}": { ".": {}, "f:port": {}, "f:protocol": {} },
    } });
    let current = json!({ "ports": [{ "port": 53, "protocol": "TCP" }, { "port": 53, "protocol": "UDP" }] });
    let patch = json!({ "ports": [{ "port": 53 }, { "port": 53, "protocol": "UDP" }] });
    assert_eq!(of_spec(fields, current, patch), MayDiffer);
}

#[test]
fn items_of_a_set_are_found_by_their_value() {
    let of = |current, patch| {
        of_spec(
            json!({ "f:set": { "v:\"a\"": {}, "v:\"b\"": {} } }),
            json!({ "set": current }),
            json!({ "set": patch }),
        )
    };
    assert_eq!(of(json!(["x", "a", "b"]), json!(["a", "b"])), Unchanged);
    assert_eq!(of(json!(["a"]), json!(["a", "b"])), MayDiffer);
    assert_eq!(of(json!(["a", "b"]), json!(["a"])), MayDiffer);
}

#[test]
fn empty_maps_and_lists_are_values() {
    assert_eq!(of_spec(json!({ "f:dir": {} }), json!({ "dir": {} }), json!({ "dir": {} })), Unchanged);
    assert_eq!(
        of_spec(json!({ "f:dir": { ".": {} } }), json!({ "dir": { "theirs": 1 } }), json!({ "dir": {} })),
        Unchanged
    );
    assert_eq!(of_spec(json!({ "f:dir": {} }), json!({}), json!({ "dir": {} })), MayDiffer);
}

#[test]
fn only_the_entry_of_this_manager_and_version_counts() {
    let current = json!({ "data": { "a": "1" } });
    let patch = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": "a", "namespace": "b" }, "data": { "a": "1" } });
    let right = entry(json!({ "f:data": { "f:a": {} } }));
    let compare_with =
        |managed: &[ManagedFieldsEntry], subresource| compare(&current, managed, &patch, "me", subresource);
    assert_eq!(compare_with(std::slice::from_ref(&right), None), Unchanged);
    assert_eq!(compare_with(&[], None), MayDiffer, "pruned, or never applied");
    assert_eq!(compare_with(std::slice::from_ref(&right), Some("status")), MayDiffer);
    for wrong in [
        ManagedFieldsEntry { manager: Some("other".into()), ..right.clone() },
        ManagedFieldsEntry { operation: Some("Update".into()), ..right.clone() },
        ManagedFieldsEntry { api_version: Some("v2".into()), ..right.clone() },
        ManagedFieldsEntry { fields_v1: None, ..right.clone() },
        ManagedFieldsEntry { fields_v1: Some(FieldsV1(json!("odd"))), ..right.clone() },
        entry(json!({ "f:data": { "f:a": "odd" } })),
        entry(json!({ "f:data": { "odd": {} } })),
        entry(json!({ "f:data": { "k:not json": {} } })),
    ] {
        assert_eq!(compare_with(std::slice::from_ref(&wrong), None), MayDiffer, "{wrong:?}");
    }
}
