//! Each rule has a case in which it must find something and one in which it must not.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::types::Definitions;

/// Two states of a definition.
type States = [Value; 2];

struct Case {
    rule: &'static str,
    fires: States,
    silent: States,
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "pages.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page", "shortNames": ["pg"], "categories": ["all"] },
            "versions": [version("v1", true)],
        },
    })
}

fn version(name: &str, storage: bool) -> Value {
    let spec = json!({ "type": "object", "properties": { "f": { "type": "string" } } });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": schema } })
}

/// Definitions in which the field `.spec.f` has these schemas.
fn field(schema: Value) -> Value {
    let mut crd = definition();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["f"] = schema;
    crd
}

/// A rule about schemas: an old and a new one of which it says something, and two of which it says nothing.
fn schemas(rule: &'static str, fires: States, silent: States) -> Case {
    Case { rule, fires: fires.map(field), silent: silent.map(field) }
}

/// A rule about definitions: what changes one so that the rule says something, and what changes one so that it does not.
fn definitions(
    rule: &'static str,
    fires: fn(&mut Value, &mut Value),
    silent: fn(&mut Value, &mut Value),
) -> Case {
    let of = |change: fn(&mut Value, &mut Value)| {
        let (mut old, mut new) = (definition(), definition());
        change(&mut old["spec"], &mut new["spec"]);
        [old, new]
    };
    Case { rule, fires: of(fires), silent: of(silent) }
}

fn webhook() -> Value {
    json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": { "url": "https://a.example" } } })
}

#[expect(clippy::too_many_lines, reason = "a table: one case for each rule")]
fn of_definitions() -> Vec<Case> {
    vec![
        Case {
            rule: "definition-removed",
            fires: [definition(), other()],
            silent: [definition(), definition()],
        },
        Case {
            rule: "definition-added",
            fires: [other(), definition()],
            silent: [definition(), definition()],
        },
        definitions("scope-changed", |_, new| new["scope"] = json!("Cluster"), |_, _| {}),
        definitions("kind-changed", |_, new| new["names"]["kind"] = json!("Leaf"), |_, _| {}),
        definitions(
            "list-kind-changed",
            |_, new| new["names"]["listKind"] = json!("Pages"),
            |_, new| new["names"]["listKind"] = json!("PageList"),
        ),
        definitions(
            "short-name-removed",
            |_, new| new["names"]["shortNames"] = json!(["p"]),
            |_, new| {
                new["names"]["shortNames"] = json!(["p", "pg"]);
                new["names"]["singular"] = json!("page");
            },
        ),
        definitions(
            "category-removed",
            |_, new| new["names"]["categories"] = Value::Null,
            |_, new| new["names"]["categories"] = json!(["book", "all"]),
        ),
        definitions(
            "conversion-removed",
            |old, _| old["conversion"] = webhook(),
            |_, new| new["conversion"] = json!({ "strategy": "None" }),
        ),
        definitions(
            "conversion-changed",
            |_, new| new["conversion"] = webhook(),
            |old, _| old["conversion"] = json!({ "strategy": "None" }),
        ),
        definitions(
            "preserve-unknown-fields-off",
            |old, _| old["preserveUnknownFields"] = json!(true),
            |_, new| new["preserveUnknownFields"] = json!(false),
        ),
        definitions(
            "version-removed",
            |old, _| old["versions"] = json!([version("v1", true), version("v1beta1", false)]),
            |old, _| {
                old["versions"] = json!([version("v1", true), version("v1beta1", false)]);
                old["versions"][1]["served"] = json!(false);
            },
        ),
        definitions(
            "version-unserved",
            |_, new| new["versions"][0]["served"] = json!(false),
            |old, _| old["versions"][0]["served"] = json!(false),
        ),
        definitions(
            "stored-version-removed",
            |_, new| new["versions"] = json!([version("v2", true)]),
            |old, _| old["versions"] = json!([version("v1", true), version("v2", false)]),
        ),
        definitions(
            "storage-version-changed",
            |_, new| new["versions"] = json!([version("v1", false), version("v2", true)]),
            |_, new| new["versions"] = json!([version("v1", true), version("v2", false)]),
        ),
        definitions(
            "version-added",
            |_, new| new["versions"] = json!([version("v1", true), version("v2", false)]),
            |_, new| new["versions"][0]["deprecated"] = json!(true),
        ),
        definitions(
            "version-deprecated",
            |_, new| new["versions"][0]["deprecated"] = json!(true),
            |old, _| old["versions"][0]["deprecated"] = json!(true),
        ),
        definitions(
            "status-subresource-removed",
            |old, _| old["versions"][0]["subresources"] = json!({ "status": {} }),
            |_, new| new["versions"][0]["subresources"] = json!({ "status": {} }),
        ),
        definitions(
            "status-subresource-added",
            |_, new| new["versions"][0]["subresources"] = json!({ "status": {} }),
            |old, _| old["versions"][0]["subresources"] = json!({ "status": {} }),
        ),
        definitions(
            "scale-subresource-removed",
            |old, _| old["versions"][0]["subresources"] = json!({ "scale": scale(".spec.replicas") }),
            |_, new| new["versions"][0]["subresources"] = json!({ "scale": scale(".spec.replicas") }),
        ),
        definitions(
            "scale-subresource-changed",
            |old, new| {
                old["versions"][0]["subresources"] = json!({ "scale": scale(".spec.replicas") });
                new["versions"][0]["subresources"] = json!({ "scale": scale(".spec.size") });
            },
            |old, new| {
                old["versions"][0]["subresources"] = json!({ "scale": scale(".spec.replicas") });
                new["versions"][0]["subresources"] =
                    json!({ "scale": scale(".spec.replicas"), "status": {} });
            },
        ),
        definitions(
            "selectable-field-removed",
            |old, _| old["versions"][0]["selectableFields"] = json!([{ "jsonPath": ".spec.f" }]),
            |_, new| new["versions"][0]["selectableFields"] = json!([{ "jsonPath": ".spec.f" }]),
        ),
        definitions(
            "printer-columns-changed",
            |_, new| {
                new["versions"][0]["additionalPrinterColumns"] =
                    json!([{ "name": "F", "type": "string", "jsonPath": ".spec.f" }])
            },
            |_, new| new["versions"][0]["additionalPrinterColumns"] = json!([]),
        ),
    ]
}

fn scale(replicas: &str) -> Value {
    json!({ "specReplicasPath": replicas, "statusReplicasPath": ".status.replicas" })
}

fn other() -> Value {
    let mut other = definition();
    other["metadata"]["name"] = json!("leaves.example.com");
    other["spec"]["names"]["plural"] = json!("leaves");
    other
}

/// An object with the fields `properties`, and more keywords.
fn object(properties: Value, more: Value) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties });
    let more = more.as_object().cloned().unwrap_or_default();
    schema.as_object_mut().expect("a map").extend(more);
    schema
}

fn with(schema_type: &str, keyword: &str, value: Value) -> Value {
    let mut schema = json!({ "type": schema_type });
    schema[keyword] = value;
    schema
}

#[expect(clippy::too_many_lines, reason = "a table: one case for each rule")]
fn of_fields() -> Vec<Case> {
    let text = || json!({ "type": "string" });
    let a = || json!({ "a": { "type": "string" } });
    let none = || json!({});
    let open = || json!({ "x-kubernetes-preserve-unknown-fields": true });
    let map = || json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let items = |list_type: &str, keys: Value| {
        let fields = json!({ "a": { "type": "string" }, "b": { "type": "string" } });
        let items = json!({ "type": "object", "properties": fields });
        let mut list = json!({ "type": "array", "items": items, "x-kubernetes-list-type": list_type });
        if !keys.is_null() {
            list["x-kubernetes-list-map-keys"] = keys;
        }
        list
    };
    vec![
        schemas(
            "type-changed",
            [text(), json!({ "type": "integer" })],
            [with("string", "description", json!("a")), with("string", "description", json!("b"))],
        ),
        schemas(
            "field-removed",
            [object(a(), none()), object(none(), none())],
            [object(a(), none()), object(none(), open())],
        ),
        schemas(
            "field-required",
            [object(a(), none()), object(a(), json!({ "required": ["a"] }))],
            [
                object(a(), none()),
                object(json!({ "a": { "type": "string", "default": "x" } }), json!({ "required": ["a"] })),
            ],
        ),
        schemas(
            "field-optional",
            [object(a(), json!({ "required": ["a"] })), object(a(), none())],
            [object(a(), json!({ "required": ["a"] })), object(none(), none())],
        ),
        schemas(
            "unknown-field-typed",
            [object(none(), open()), object(a(), open())],
            [object(none(), none()), object(a(), none())],
        ),
        schemas(
            "preserve-unknown-fields-removed",
            [object(a(), open()), object(a(), none())],
            [object(none(), open()), json!({ "type": "object", "additionalProperties": true })],
        ),
        schemas(
            "additional-properties-removed",
            [map(), object(a(), none())],
            [map(), object(none(), open())],
        ),
        schemas(
            "nullable-removed",
            [with("string", "nullable", json!(true)), text()],
            [with("string", "nullable", json!(false)), text()],
        ),
        schemas(
            "nullable-added",
            [text(), with("string", "nullable", json!(true))],
            [text(), with("string", "nullable", json!(false))],
        ),
        schemas(
            "enum-added",
            [text(), with("string", "enum", json!(["a"]))],
            [with("string", "enum", json!(["a"])), text()],
        ),
        schemas(
            "enum-value-removed",
            [with("string", "enum", json!(["a", "b"])), with("string", "enum", json!(["a"]))],
            [with("string", "enum", json!(["a", "b"])), with("string", "enum", json!(["b", "c", "a"]))],
        ),
        schemas(
            "enum-value-added",
            [with("string", "enum", json!(["a"])), with("string", "enum", json!(["a", "b"]))],
            [with("string", "enum", json!(["a", "b"])), with("string", "enum", json!(["b"]))],
        ),
        schemas(
            "default-added",
            [text(), with("string", "default", json!("a"))],
            [with("string", "default", json!("a")), text()],
        ),
        schemas(
            "default-changed",
            [with("string", "default", json!("a")), with("string", "default", json!("b"))],
            [text(), with("string", "default", json!("b"))],
        ),
        schemas(
            "default-removed",
            [with("string", "default", json!("a")), text()],
            [with("string", "default", json!("a")), with("string", "default", json!("b"))],
        ),
        schemas(
            "list-type-changed",
            [items("atomic", Value::Null), items("map", json!(["a"]))],
            [
                items("atomic", Value::Null),
                json!({ "type": "array", "items": items("set", Value::Null)["items"] }),
            ],
        ),
        schemas(
            "list-map-keys-changed",
            [items("map", json!(["a"])), items("map", json!(["a", "b"]))],
            [items("map", json!(["a", "b"])), items("map", json!(["b", "a"]))],
        ),
        schemas(
            "map-type-changed",
            [object(a(), none()), object(a(), json!({ "x-kubernetes-map-type": "atomic" }))],
            [object(a(), none()), object(a(), json!({ "x-kubernetes-map-type": "granular" }))],
        ),
        schemas(
            "embedded-resource-added",
            [
                object(none(), open()),
                object(
                    none(),
                    json!({ "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true }),
                ),
            ],
            [object(none(), json!({ "x-kubernetes-embedded-resource": true })), object(none(), open())],
        ),
        schemas(
            "validation-rule-added",
            [text(), with("string", "x-kubernetes-validations", json!([{ "rule": "self != ''" }]))],
            [
                with("string", "x-kubernetes-validations", json!([{ "rule": "self != ''" }])),
                with(
                    "string",
                    "x-kubernetes-validations",
                    json!([{ "rule": "self != ''", "message": "not empty" }]),
                ),
            ],
        ),
        schemas(
            "alternatives-changed",
            [object(a(), none()), object(a(), json!({ "not": { "required": ["a"] } }))],
            [object(a(), json!({ "anyOf": [{ "required": ["a"] }] })), object(a(), none())],
        ),
    ]
}

fn of_limits() -> Vec<Case> {
    let limit = |rule, schema_type: &str, keyword: &str, fires: [Value; 2], silent: [Value; 2]| {
        let of = |value: Value| {
            if value.is_null() { json!({ "type": schema_type }) } else { with(schema_type, keyword, value) }
        };
        schemas(rule, fires.map(of), silent.map(of))
    };
    let n = |value: i64| json!(value);
    let null = || Value::Null;
    vec![
        limit("minimum-raised", "number", "minimum", [n(1), json!(1.5)], [n(2), n(1)]),
        limit("maximum-lowered", "integer", "maximum", [null(), n(9)], [n(8), n(9)]),
        limit("min-length-raised", "string", "minLength", [n(1), n(2)], [null(), n(0)]),
        limit("max-length-lowered", "string", "maxLength", [null(), n(2)], [n(2), null()]),
        limit("min-items-raised", "array", "minItems", [null(), n(1)], [n(1), n(1)]),
        limit("max-items-lowered", "array", "maxItems", [n(3), n(2)], [n(2), n(3)]),
        limit("min-properties-raised", "object", "minProperties", [n(1), n(2)], [n(1), null()]),
        limit("max-properties-lowered", "object", "maxProperties", [null(), n(1)], [n(1), n(2)]),
        limit("multiple-of-changed", "integer", "multipleOf", [n(5), n(10)], [n(10), n(5)]),
        limit("pattern-changed", "string", "pattern", [json!("^a"), json!("^b")], [json!("^a"), null()]),
        limit("format-changed", "string", "format", [null(), json!("uri")], [json!("uri"), null()]),
    ]
}

fn changes([old, new]: &States) -> Vec<Change> {
    let [old, new] = [old, new].map(|state| Definitions::parse(&state.to_string()).unwrap());
    compare(&old, &new)
}

fn names(states: &States) -> Vec<&'static str> {
    changes(states).iter().map(Change::rule).collect()
}

#[test]
fn each_rule_finds_its_change_and_not_another() {
    let cases: Vec<_> = [of_definitions(), of_fields(), of_limits()].into_iter().flatten().collect();
    for Case { rule, fires, silent } in &cases {
        assert!(names(fires).contains(rule), "{rule} finds nothing in {fires:?}");
        assert!(!names(silent).contains(rule), "{rule} finds something in {silent:?}");
        assert_eq!(names(&[fires[0].clone(), fires[0].clone()]), [""; 0], "{rule}: nothing was changed");
    }
    let tested: BTreeSet<_> = cases.iter().map(|case| case.rule).collect();
    let all: BTreeSet<_> = rules().map(Rule::name).collect();
    assert_eq!(tested, all, "rules without a case, or cases without a rule");
    assert_eq!(all.len(), rules().count(), "two rules of one name");
    assert_eq!(tested.len(), cases.len(), "two cases of one rule");
}

#[test]
fn a_line_has_the_place_the_change_whom_it_breaks_why_and_the_rule() {
    let list = |maximum: i64| {
        let port = json!({ "type": "integer", "maximum": maximum });
        json!({ "type": "array", "items": object(json!({ "port": port }), json!({})) })
    };
    let lines: Vec<_> = changes(&[field(list(10)), field(list(5))]).iter().map(ToString::to_string).collect();
    let expected = "pages.example.com: v1: .spec.f[*].port: the maximum is 5, was 10: breaks objects and clients: larger values are refused \
                    (maximum-lowered)";
    assert_eq!(lines, [expected]);
}

#[test]
fn below_another_type_nothing_is_compared() {
    let old = object(json!({ "a": { "type": "string" } }), json!({ "required": ["a"] }));
    assert_eq!(names(&[field(old), field(json!({ "type": "string" }))]), ["type-changed"]);
    let either = json!({ "x-kubernetes-int-or-string": true });
    assert_eq!(names(&[field(either.clone()), field(either)]), [""; 0]);
}

#[test]
fn maps_are_compared_with_the_fields_that_became_their_keys() {
    let fields = object(json!({ "a": { "type": "string" } }), json!({}));
    let map = |value: &str| json!({ "type": "object", "additionalProperties": { "type": value } });
    assert_eq!(names(&[field(fields.clone()), field(map("string"))]), [""; 0]);
    assert_eq!(names(&[field(fields), field(map("integer"))]), ["type-changed"]);
    let changed = changes(&[field(map("string")), field(map("integer"))]);
    assert_eq!(changed[0].path(), ".spec.f[*]");
}

#[test]
fn an_exclusive_bound_is_tighter() {
    let bound = |exclusive: bool| json!({ "type": "number", "minimum": 1, "exclusiveMinimum": exclusive });
    assert_eq!(names(&[field(bound(false)), field(bound(true))]), ["minimum-raised"]);
    assert_eq!(names(&[field(bound(true)), field(bound(false))]), [""; 0]);
}

#[test]
fn a_new_version_is_compared_with_the_stored_one_if_no_webhook_converts() {
    let mut new = definition();
    new["spec"]["versions"] = json!([version("v1", false), version("v2", true)]);
    let fields = "/spec/versions/1/schema/openAPIV3Schema/properties/spec/properties";
    *new.pointer_mut(fields).expect("the fields of v2") =
        json!({ "g": { "type": "string", "default": "x" } });
    let found = changes(&[definition(), new.clone()]);
    let of_schemas: Vec<_> = found.iter().filter(|change| change.version().is_some()).collect();
    assert_eq!(of_schemas.len(), 1, "{of_schemas:?}");
    assert_eq!((of_schemas[0].rule(), of_schemas[0].version()), ("field-removed", Some("v1 -> v2")));
    new["spec"]["conversion"] = webhook();
    assert!(changes(&[definition(), new]).iter().all(|change| change.version().is_none()));
}

#[test]
fn stored_versions_are_those_of_the_status() {
    let mut old = definition();
    old["spec"]["versions"] = json!([version("v1", true), version("v1beta1", false)]);
    let is_found = |old: &Value| names(&[old.clone(), definition()]).contains(&"stored-version-removed");
    assert!(!is_found(&old));
    old["status"] = json!({ "storedVersions": ["v1beta1", "v1"], "conditions": [], "acceptedNames": old["spec"]["names"] });
    assert!(is_found(&old));
}

#[test]
fn as_json_a_change_has_all_of_its_parts() {
    let found = changes(&[field(json!({ "type": "string" })), field(json!({ "type": "integer" }))]);
    let expected = json!([{
        "rule": "type-changed", "breaks": ["objects", "clients"], "definition": "pages.example.com", "version": "v1", "path": ".spec.f",
        "change": "the type is integer, was string", "reason": "values of the old type are refused, and clients cannot read the new one",
    }]);
    assert_eq!(serde_json::to_value(found).unwrap(), expected);
}
