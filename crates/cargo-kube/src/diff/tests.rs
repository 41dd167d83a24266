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

fn embedded(more: Value) -> Value {
    let mut schema = object(json!({ "a": { "type": "string" } }), more);
    schema["x-kubernetes-embedded-resource"] = json!(true);
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
            "type-widened",
            [json!({ "type": "integer" }), json!({ "type": "number" })],
            [json!({ "type": "number" }), json!({ "type": "integer" })],
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
            [items("map", json!(["a"])), items("atomic", Value::Null)],
        ),
        schemas(
            "list-type-atomic",
            [
                items("map", json!(["a"])),
                json!({ "type": "array", "items": items("set", Value::Null)["items"] }),
            ],
            [
                items("atomic", Value::Null),
                json!({ "type": "array", "items": items("set", Value::Null)["items"] }),
            ],
        ),
        schemas(
            "list-map-keys-changed",
            [items("map", json!(["a", "b"])), items("map", json!(["a"]))],
            [items("map", json!(["a", "b"])), items("map", json!(["b", "a"]))],
        ),
        schemas(
            "list-map-keys-added",
            [items("map", json!(["a"])), items("map", json!(["a", "b"]))],
            [items("map", json!(["a", "b"])), items("map", json!(["b"]))],
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
            "embedded-resource-removed",
            [embedded(none()), object(a(), none())],
            [embedded(open()), object(none(), open())],
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
        limit("format-widened", "string", "format", [json!("uri"), null()], [null(), json!("uri")]),
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

/// Two schemas, and what the rules say about the way from the first to the second, and back.
struct BothWays {
    keyword: &'static str,
    schemas: States,
    there: &'static [&'static str],
    back: &'static [&'static str],
}

/// Of a field with one keyword; null: without it.
fn keyword(
    schema_type: &str,
    keyword: &'static str,
    [one, other]: States,
    there: &'static [&'static str],
    back: &'static [&'static str],
) -> BothWays {
    let of = |value: Value| {
        if value.is_null() { json!({ "type": schema_type }) } else { with(schema_type, keyword, value) }
    };
    BothWays { keyword, schemas: [of(one), of(other)], there, back }
}

/// All keywords that servers accept in the schemas of definitions.
#[expect(clippy::too_many_lines, reason = "a table of all keywords")]
fn keywords() -> Vec<BothWays> {
    const NONE: &[&str] = &[];
    let null = || Value::Null;
    let n = |value: i64| json!(value);
    let whole = |keyword, schemas, there, back| BothWays { keyword, schemas, there, back };
    let text = || json!({ "type": "string" });
    let of_a = |more: Value| object(json!({ "a": { "type": "string" } }), more);
    let open = || json!({ "x-kubernetes-preserve-unknown-fields": true });
    let map = |values: Value| json!({ "type": "object", "additionalProperties": values });
    let needs = |field: &str| json!({ "required": [field] });
    let list = |list_type: &str, keys: &[&str]| {
        let fields = json!({ "a": { "type": "string" }, "b": { "type": "string" } });
        let mut list = json!({ "type": "array", "items": object(fields, json!({ "required": ["a", "b"] })) });
        list["x-kubernetes-list-type"] = json!(list_type);
        if !keys.is_empty() {
            list["x-kubernetes-list-map-keys"] = json!(keys);
        }
        list
    };
    let rule = |more: Value| {
        let mut rule = json!({ "rule": "self.a == oldSelf.a" });
        rule.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        of_a(json!({ "x-kubernetes-validations": [rule] }))
    };
    vec![
        keyword("string", "description", [null(), json!("a")], NONE, NONE),
        keyword("string", "title", [null(), json!("a")], NONE, NONE),
        keyword("string", "example", [null(), json!("a")], NONE, NONE),
        keyword("string", "externalDocs", [null(), json!({ "url": "https://example.com" })], NONE, NONE),
        // Types.
        whole("type", [text(), json!({ "type": "integer" })], &["type-changed"], &["type-changed"]),
        whole(
            "type",
            [json!({ "type": "integer" }), json!({ "type": "number" })],
            &["type-widened"],
            &["type-changed"],
        ),
        whole("type", [text(), open()], &["type-widened"], &["type-changed"]),
        whole(
            "x-kubernetes-int-or-string",
            [text(), json!({ "x-kubernetes-int-or-string": true })],
            &["type-widened"],
            &["type-changed"],
        ),
        whole(
            "x-kubernetes-int-or-string",
            [json!({ "type": "number" }), json!({ "x-kubernetes-int-or-string": true })],
            &["type-changed"],
            &["type-changed"],
        ),
        keyword("string", "nullable", [null(), json!(true)], &["nullable-added"], &["nullable-removed"]),
        // Fields.
        whole("properties", [of_a(json!({})), object(json!({}), json!({}))], &["field-removed"], NONE),
        whole("properties", [of_a(open()), object(json!({}), open())], NONE, &["unknown-field-typed"]),
        whole("required", [of_a(json!({})), of_a(needs("a"))], &["field-required"], &["field-optional"]),
        whole(
            "additionalProperties",
            [map(text()), map(json!({ "type": "integer" }))],
            &["type-changed"],
            &["type-changed"],
        ),
        whole("additionalProperties", [map(text()), map(json!(true))], NONE, &["unknown-field-typed"]),
        whole(
            "additionalProperties",
            [map(text()), object(json!({}), json!({}))],
            &["additional-properties-removed"],
            NONE,
        ),
        whole(
            "additionalProperties",
            [map(text()), of_a(json!({}))],
            &["additional-properties-removed"],
            NONE,
        ),
        whole(
            "additionalProperties",
            [map(json!({ "type": "string" })), object(json!({ "a": { "type": "integer" } }), json!({}))],
            &["additional-properties-removed", "type-changed"],
            &["type-changed"],
        ),
        whole(
            "x-kubernetes-preserve-unknown-fields",
            [of_a(json!({})), of_a(open())],
            NONE,
            &["preserve-unknown-fields-removed"],
        ),
        whole(
            "x-kubernetes-embedded-resource",
            [of_a(json!({})), embedded(json!({}))],
            &["embedded-resource-added"],
            &["embedded-resource-removed"],
        ),
        whole(
            "x-kubernetes-embedded-resource",
            [of_a(open()), embedded(open())],
            &["embedded-resource-added"],
            NONE,
        ),
        // Lists and merging.
        whole(
            "items",
            [
                json!({ "type": "array", "items": text() }),
                json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
            ],
            &["min-length-raised"],
            NONE,
        ),
        whole(
            "x-kubernetes-list-type",
            [list("atomic", &[]), list("map", &["a"])],
            &["list-type-changed"],
            &["list-type-atomic"],
        ),
        whole(
            "x-kubernetes-list-map-keys",
            [list("map", &["a", "b"]), list("map", &["a"])],
            &["list-map-keys-changed"],
            &["list-map-keys-added"],
        ),
        whole(
            "x-kubernetes-map-type",
            [of_a(json!({})), of_a(json!({ "x-kubernetes-map-type": "atomic" }))],
            &["map-type-changed"],
            &["map-type-changed"],
        ),
        // Values.
        keyword("string", "enum", [null(), json!(["a"])], &["enum-added"], &["enum-value-added"]),
        keyword("string", "enum", [null(), json!([])], NONE, NONE),
        keyword(
            "string",
            "enum",
            [json!(["a", "b"]), json!(["a"])],
            &["enum-value-removed"],
            &["enum-value-added"],
        ),
        keyword("number", "enum", [json!([1, 2]), json!([2.0, 1.0])], NONE, NONE),
        keyword("string", "default", [null(), json!("a")], &["default-added"], &["default-removed"]),
        keyword("string", "default", [json!("a"), json!("b")], &["default-changed"], &["default-changed"]),
        keyword("number", "default", [json!(1), json!(1.0)], NONE, NONE),
        // Limits.
        keyword("number", "minimum", [null(), n(1)], &["minimum-raised"], NONE),
        keyword("number", "minimum", [n(1), json!(1.5)], &["minimum-raised"], NONE),
        keyword("integer", "minimum", [n(1), json!(1.5)], NONE, NONE),
        keyword("number", "maximum", [null(), n(1)], &["maximum-lowered"], NONE),
        keyword("integer", "maximum", [json!(1.5), n(1)], NONE, NONE),
        whole(
            "exclusiveMinimum",
            [
                json!({ "type": "number", "minimum": 1 }),
                json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true }),
            ],
            &["minimum-raised"],
            NONE,
        ),
        whole(
            "exclusiveMaximum",
            [
                json!({ "type": "number", "maximum": 1 }),
                json!({ "type": "number", "maximum": 1, "exclusiveMaximum": true }),
            ],
            &["maximum-lowered"],
            NONE,
        ),
        keyword("string", "minLength", [null(), n(1)], &["min-length-raised"], NONE),
        keyword("string", "maxLength", [null(), n(1)], &["max-length-lowered"], NONE),
        keyword("array", "minItems", [n(1), n(2)], &["min-items-raised"], NONE),
        keyword("array", "maxItems", [n(2), n(1)], &["max-items-lowered"], NONE),
        keyword("object", "minProperties", [n(1), n(2)], &["min-properties-raised"], NONE),
        keyword("object", "maxProperties", [n(2), n(1)], &["max-properties-lowered"], NONE),
        keyword("integer", "multipleOf", [n(10), n(5)], NONE, &["multiple-of-changed"]),
        keyword("number", "multipleOf", [json!(0.3), json!(0.1)], NONE, &["multiple-of-changed"]),
        keyword("number", "multipleOf", [json!(2.5), json!(1.25)], NONE, &["multiple-of-changed"]),
        // Servers divide whole numbers by the whole part: 2 is no multiple of 0.5.
        keyword(
            "number",
            "multipleOf",
            [n(1), json!(0.5)],
            &["multiple-of-changed"],
            &["multiple-of-changed"],
        ),
        keyword("integer", "multipleOf", [json!(0.5), n(1)], NONE, &["multiple-of-changed"]),
        keyword("number", "multipleOf", [null(), n(1)], &["multiple-of-changed"], NONE),
        keyword("string", "pattern", [null(), json!("^a")], &["pattern-changed"], NONE),
        keyword("string", "pattern", [json!("^a"), json!("^b")], &["pattern-changed"], &["pattern-changed"]),
        keyword("string", "format", [null(), json!("uri")], &["format-changed"], &["format-widened"]),
        keyword(
            "string",
            "format",
            [json!("uuid4"), json!("uuid")],
            &["format-widened"],
            &["format-changed"],
        ),
        keyword("string", "format", [json!("date-time"), json!("datetime")], NONE, NONE),
        keyword("string", "format", [json!("uri"), json!("uuid")], &["format-changed"], &["format-changed"]),
        keyword("string", "format", [null(), json!("nobody-knows-it")], NONE, NONE),
        keyword(
            "integer",
            "format",
            [json!("int32"), json!("int64")],
            &["format-widened"],
            &["format-changed"],
        ),
        keyword("integer", "format", [json!("int32"), null()], &["format-widened"], &["format-changed"]),
        keyword("number", "format", [null(), json!("double")], NONE, NONE),
        // Rules.
        whole(
            "x-kubernetes-validations",
            [of_a(json!({})), rule(json!({}))],
            &["validation-rule-added"],
            NONE,
        ),
        whole("x-kubernetes-validations", [rule(json!({})), rule(json!({ "message": "a" }))], NONE, NONE),
        whole(
            "x-kubernetes-validations",
            [rule(json!({})), rule(json!({ "optionalOldSelf": true }))],
            &["validation-rule-added"],
            NONE,
        ),
        whole(
            "allOf",
            [of_a(json!({})), of_a(json!({ "allOf": [needs("a")] }))],
            &["alternatives-changed"],
            NONE,
        ),
        whole(
            "anyOf",
            [of_a(json!({})), of_a(json!({ "anyOf": [needs("a")] }))],
            &["alternatives-changed"],
            NONE,
        ),
        whole(
            "anyOf",
            [of_a(json!({ "anyOf": [needs("a"), needs("b")] })), of_a(json!({ "anyOf": [needs("a")] }))],
            &["alternatives-changed"],
            NONE,
        ),
        whole(
            "oneOf",
            [of_a(json!({ "oneOf": [needs("a"), needs("b")] })), of_a(json!({ "oneOf": [needs("a")] }))],
            &["alternatives-changed"],
            &["alternatives-changed"],
        ),
        whole(
            "oneOf",
            [
                of_a(json!({ "oneOf": [needs("a"), needs("b")] })),
                of_a(json!({ "oneOf": [needs("b"), needs("a")] })),
            ],
            NONE,
            NONE,
        ),
        whole("not", [of_a(json!({})), of_a(json!({ "not": needs("a") }))], &["alternatives-changed"], NONE),
    ]
}

#[test]
fn each_keyword_is_compared_in_both_directions() {
    for BothWays { keyword, schemas: [one, other], there, back } in keywords() {
        let ways = [(&one, &other, there), (&other, &one, back)];
        for (old, new, expected) in ways {
            let found: BTreeSet<_> = names(&[field(old.clone()), field(new.clone())]).into_iter().collect();
            let expected: BTreeSet<_> = expected.iter().copied().collect();
            assert_eq!(found, expected, "{keyword}: from {old} to {new}");
        }
    }
}
