//! `#[serde(flatten)]`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{error, json};

fn upper<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text.to_uppercase())
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
    #[serde(flatten)]
    more: More,
    #[serde(flatten)]
    only: Only,
    #[serde(flatten)]
    boxed: Option<Box<Deep>>,
    #[serde(flatten)]
    kind: Kind,
    #[serde(flatten)]
    free: BTreeMap<String, Value>,
    #[serde(serialize_with = "upper")]
    odd_name: String,
    #[serde(rename = "zz", serialize_with = "upper")]
    odd: String,
}

#[derive(Clone, Default, Serialize)]
struct More {
    a: Option<i32>,
    #[serde(rename = "bee")]
    b: Option<i32>,
}

#[derive(Clone, Default, Serialize)]
struct Only {
    only: Option<i32>,
}

#[derive(Clone, Default, Serialize)]
struct Deep {
    deep: Option<i32>,
}

#[derive(Clone, Default, Serialize)]
#[serde(tag = "kind")]
enum Kind {
    #[default]
    None,
    Circle {
        radius: i32,
    },
}

#[test]
fn the_fields_of_a_flattened_struct_are_those_of_the_struct_around() {
    let status = apply!(Status { conditions: [{ type_: "Ready" }], observed_generation: 3, more: { b: 2 }, only: { only: 7 } });
    assert_eq!(
        json(&status),
        json!({ "conditions": [{ "type": "Ready" }], "observedGeneration": 3, "bee": 2, "only": 7 })
    );
    let whole = More { a: Some(1), b: Some(2) };
    assert_eq!(json(&apply!(Status { more: &whole })), json!({ "a": 1, "bee": 2 }));
}

#[test]
fn flattened_pointers_enums_and_maps_are_attributed_by_their_entries() {
    assert_eq!(json(&apply!(Status { boxed: { deep: 1 } })), json!({ "deep": 1 }));
    assert_eq!(
        json(&apply!(Status { kind: Kind::Circle { radius: 2 } })),
        json!({ "kind": "Circle", "radius": 2 })
    );
    assert_eq!(
        json(&apply!(Status { free: { "x": json!(1), "y": json!({ "z": [2] }) }, more: { a: 3 } })),
        json!({ "x": 1, "y": { "z": [2] }, "a": 3 })
    );
}

#[test]
fn functions_beside_flattened_fields_are_attributed() {
    assert_eq!(json(&apply!(Status { odd_name: "x" })), json!({ "oddName": "X" }));
    assert_eq!(json(&apply!(Status { odd: "x" })), json!({ "zz": "X" }));
    assert_eq!(
        json(&apply!(Status { odd: "x", odd_name: "y", free: { "f": json!("g") } })),
        json!({ "zz": "X", "oddName": "Y", "f": "g" })
    );
}

#[test]
fn a_flattened_map_without_entries_is_an_error_that_names_it() {
    let error = error(&apply!(Status { free: {} }));
    assert!(error.starts_with("Status.free: "), "{error}");
    assert!(error.contains("does not serialize this field if its value is {}"), "{error}");
}

#[test]
fn two_fields_of_one_name_are_an_error() {
    #[derive(Default, Serialize)]
    struct Clash {
        a: i32,
        #[serde(flatten)]
        more: More,
    }
    let error = error(&apply!(Clash { a: 1, more: { a: 2 } }));
    assert!(error.ends_with("serializes two of the written fields as `a`"), "{error}");
}
