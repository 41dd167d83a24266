//! Fields that are not serialized by reference: what they change tells their name, or they are an error.

use std::time::Duration;

use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::json;

use super::{error, json};

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}s", duration.as_secs()))
}

fn list<S: Serializer>(names: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&names.join(","))
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Widget {
    #[serde(serialize_with = "seconds")]
    idle_timeout: Duration,
    #[serde(rename = "zz", serialize_with = "seconds")]
    renamed: Duration,
    #[serde(serialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "is_default_port")]
    port: i32,
    #[serde(skip)]
    hidden: i32,
    plain: i32,
    #[serde(serialize_with = "inner")]
    inner: Inner,
}

fn is_default_port(port: &i32) -> bool {
    *port == 80
}

fn inner<S: Serializer>(inner: &Inner, serializer: S) -> Result<S::Ok, S::Error> {
    let mut all = serializer.serialize_struct("Inner", 1)?;
    all.serialize_field("different", &inner.v)?;
    all.end()
}

#[derive(Clone, Default, Serialize)]
struct Inner {
    v: i32,
}

#[test]
fn the_value_is_what_the_function_makes_of_it() {
    let second = Duration::from_secs(1);
    assert_eq!(json(&apply!(Widget { idle_timeout: second })), json!({ "idleTimeout": "1s" }));
    assert_eq!(json(&apply!(Widget { renamed: second })), json!({ "zz": "1s" }));
    assert_eq!(
        json(&apply!(Widget { renamed: second, idle_timeout: 2 * second, names: ["a", "b"], plain: 0 })),
        json!({ "zz": "1s", "idleTimeout": "2s", "names": "a,b", "plain": 0 })
    );
}

/// Nothing changes, and a name that is alike may be that of another field.
#[test]
fn a_value_equal_to_the_default_is_an_error_with_the_way_out() {
    for (value, field) in [
        (apply!(Widget { idle_timeout: Duration::ZERO }), "Widget.idle_timeout: "),
        (apply!(Widget { renamed: Duration::ZERO }), "Widget.renamed: "),
        (
            apply!(Widget { renamed: Duration::from_secs(1), idle_timeout: Duration::ZERO }),
            "Widget.idle_timeout: ",
        ),
    ] {
        let error = error(&value);
        assert!(error.starts_with(field) && error.contains("leave the field out"), "{error}");
    }
    let alike = error(&apply!(Widget { idle_timeout: Duration::ZERO }));
    assert!(alike.contains("makes the same of {"), "{alike}");
}

#[test]
fn a_value_that_the_type_leaves_out_is_an_error_with_the_way_out() {
    for (value, start) in [
        (apply!(Widget { tags: [] }), "Widget.tags: "),
        (apply!(Widget { plain: 1, names: Vec::new(), renamed: Duration::from_secs(1) }), "Widget.names: "),
        (apply!(Widget { port: 80 }), "Widget.port: "),
        (apply!(Widget { hidden: 1 }), "Widget.hidden: "),
    ] {
        let error = error(&value);
        assert!(error.starts_with(start), "{error}");
    }
    let tags = error(&apply!(Widget { tags: [] }));
    assert!(tags.ends_with("leave the field out as well, with `if` or `None`"), "{tags}");
    let none: Vec<String> = vec![];
    assert_eq!(json(&apply!(Widget { tags: (!none.is_empty()).then_some(none) })), json!({}));
}

#[test]
fn braces_of_a_field_that_a_function_serializes_are_an_error() {
    let error = error(&apply!(Widget { inner: { v: 1 } }));
    assert!(error.starts_with("Widget.inner: "), "{error}");
}

/// Two fields that have each other's names on the wire, and one that is computed from both.
#[derive(Default, Serialize)]
struct Crossed {
    #[serde(rename = "b", serialize_with = "seconds")]
    a: Duration,
    #[serde(rename = "a", serialize_with = "seconds")]
    b: Duration,
}

#[test]
fn fields_that_carry_the_names_of_others_are_never_confused() {
    let one = Duration::from_secs(1);
    assert_eq!(json(&apply!(Crossed { a: one })), json!({ "b": "1s" }));
    assert_eq!(json(&apply!(Crossed { a: one, b: 2 * one })), json!({ "b": "1s", "a": "2s" }));
    for value in [apply!(Crossed { a: Duration::ZERO }), apply!(Crossed { a: Duration::ZERO, b: one })] {
        let error = error(&value);
        assert!(error.starts_with("Crossed.a: "), "{error}");
    }
}

/// A computed value hides which of the changes belongs to the field.
#[derive(Default)]
struct Computed {
    odd: String,
    items: Vec<i32>,
}

impl Serialize for Computed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_struct("Computed", 3)?;
        all.serialize_field("zz", &self.odd.to_uppercase())?;
        all.serialize_field("items", &self.items)?;
        all.serialize_field("length", &self.items.len())?;
        all.end()
    }
}

#[test]
fn a_change_that_may_be_of_another_field_is_an_error() {
    assert_eq!(json(&apply!(Computed { odd: "x" })), json!({ "zz": "X" }));
    assert_eq!(json(&apply!(Computed { items: [1] })), json!({ "items": [1] }));
    for value in [apply!(Computed { odd: "x", items: [1] }), apply!(Computed { odd: "", items: [1] })] {
        let error = error(&value);
        assert!(error.starts_with("Computed.odd: "), "{error}");
    }
}

/// Cannot be serialized while it is incomplete.
#[derive(Default)]
struct Strict {
    name: String,
    other: String,
}

impl Serialize for Strict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.other.is_empty() {
            return Err(serde::ser::Error::custom("other is required"));
        }
        let mut all = serializer.serialize_struct("Strict", 2)?;
        all.serialize_field("name", &self.name)?;
        all.serialize_field("other", &self.other)?;
        all.end()
    }
}

#[test]
fn a_type_that_refuses_to_be_serialized_is_an_error_with_its_reason() {
    let error = error(&apply!(Strict { name: "a" }));
    assert!(error.contains("while only some of its fields are written: other is required"), "{error}");
    assert_eq!(json(&apply!(Strict { name: "a", other: "b" })), json!({ "name": "a", "other": "b" }));
}
