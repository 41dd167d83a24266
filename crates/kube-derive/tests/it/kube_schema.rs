//! `#[derive(KubeSchema)]`: rules and merge strategies of the struct and its properties.

use std::collections::BTreeMap;

use kube_core::schema::structural_schema;
use kube_derive::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Limits.
#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", default)]
#[x_kube(validation = ("self.minSize <= self.maxSize", "min is above max"))]
#[x_kube(validation = Rule::new("true").reason(Reason::FieldValueInvalid).field_path(".minSize"))]
#[x_kube(crates(kube_core = kube_core))]
struct Limits {
    /// The minimum.
    #[x_kube(validation = "self >= 0")]
    min_size: i32,
    #[schemars(rename = "maxSize")]
    #[x_kube(validation = "self < 1000", validation = ("self != 13", "unlucky"))]
    largest: i32,
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_string()]), validation = "size(self) < 10")]
    ports: Vec<Port>,
    #[x_kube(merge_strategy = ListMerge::Set)]
    set: Vec<String>,
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    map: BTreeMap<String, String>,
    #[x_kube(merge_strategy = StructMerge::Atomic)]
    port: Port,
    #[x_kube(validation = "self.name != ''")]
    maybe: Option<Port>,
    #[x_kube(merge_strategy = MapMerge::Granular)]
    any: Value,
    #[serde(flatten)]
    more: Port,
    untouched: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Port {
    name: String,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            min_size: 1,
            largest: 2,
            ports: vec![],
            set: vec!["a".into()],
            map: BTreeMap::new(),
            port: Port::default(),
            maybe: None,
            any: Value::Null,
            more: Port::default(),
            untouched: "u".into(),
        }
    }
}

#[test]
fn rules_and_strategies_are_at_their_properties() {
    let schema = serde_json::to_value(structural_schema::<Limits>().unwrap()).unwrap();
    assert_eq!(schema["title"], "Limits");
    assert_eq!(schema["description"], "Limits.");
    assert_eq!(
        schema["x-kubernetes-validations"],
        json!([
            { "rule": "self.minSize <= self.maxSize", "message": "min is above max" },
            { "rule": "true", "reason": "FieldValueInvalid", "fieldPath": ".minSize" },
        ])
    );
    let at = |name: &str| schema["properties"][name].clone();
    assert_eq!(
        at("minSize"),
        json!({
            "type": "integer",
            "format": "int32",
            "description": "The minimum.",
            "default": 1,
            "x-kubernetes-validations": [{ "rule": "self >= 0" }],
        })
    );
    assert_eq!(
        at("maxSize")["x-kubernetes-validations"],
        json!([{ "rule": "self < 1000" }, { "rule": "self != 13", "message": "unlucky" }])
    );
    assert_eq!(at("ports")["x-kubernetes-list-type"], "map");
    assert_eq!(at("ports")["x-kubernetes-list-map-keys"], json!(["name"]));
    assert_eq!(at("ports")["x-kubernetes-validations"], json!([{ "rule": "size(self) < 10" }]));
    assert_eq!(at("set")["x-kubernetes-list-type"], "set");
    assert_eq!(at("set")["default"], json!(["a"]));
    assert_eq!(at("map")["x-kubernetes-map-type"], "atomic");
    assert_eq!(at("port")["x-kubernetes-map-type"], "atomic", "a CRD has one key for maps and structs");
    assert_eq!(at("maybe")["x-kubernetes-validations"], json!([{ "rule": "self.name != ''" }]));
    assert_eq!(
        at("any").get("x-kubernetes-map-type"),
        None,
        "servers accept it for objects only, and for any value it is the default"
    );
    assert_eq!(at("untouched"), json!({ "type": "string", "default": "u" }));
    assert_eq!(at("name"), json!({ "type": "string" }), "flattened");
}

#[test]
fn the_schema_is_inlined_and_named_like_the_type() {
    assert!(Limits::inline_schema());
    assert_eq!(Limits::schema_name(), "Limits");
    let outer = schemars::schema_for!(Vec<Limits>);
    assert_eq!(
        outer.pointer("/items/properties/minSize/x-kubernetes-validations/0/rule"),
        Some(&json!("self >= 0"))
    );
}

/// A tree, each node with a rule.
#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = "self.name != ''", crates(kube_core = kube_core))]
struct Node {
    name: String,
    #[x_kube(validation = "size(self) < 5")]
    children: Vec<Node>,
    parent: Option<Box<Node>>,
}

#[test]
fn a_recursive_type_is_an_error() {
    let error = structural_schema::<Node>().unwrap_err().to_string();
    assert!(error.contains("`Node` contains itself at `.children[*]`"), "{error}");
    assert!(Node::inline_schema(), "it is inlined again after its schema was generated");
    let error = structural_schema::<Option<Vec<Node>>>().unwrap_err().to_string();
    assert!(error.contains("`Node` contains itself at `[*].children[*]`"), "{error}");
}

/// A merge strategy at a field of the wrong type.
#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(crates(kube_core = kube_core))]
struct Misplaced {
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    any: Value,
}

#[test]
fn a_strategy_at_a_value_of_the_wrong_type_is_an_error() {
    let error = structural_schema::<Vec<Misplaced>>().unwrap_err().to_string();
    assert!(
        error.contains("`x-kubernetes-map-type` at `[*].any`, which needs the type object and has any value"),
        "{error}"
    );
}

#[derive(Clone, Debug, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = "self.a > 0", crates(kube_core = kube_core))]
#[schemars(rename = "Other", description = "Renamed.")]
struct Renamed {
    #[x_kube(validation = "self < 9")]
    a: u8,
}

#[test]
fn a_renamed_schema_keeps_its_rules() {
    assert_eq!(Renamed::schema_name(), "Other");
    let schema = serde_json::to_value(structural_schema::<Renamed>().unwrap()).unwrap();
    assert_eq!((&schema["title"], &schema["description"]), (&json!("Other"), &json!("Renamed.")));
    assert_eq!(schema["properties"]["a"]["x-kubernetes-validations"], json!([{ "rule": "self < 9" }]));
}
