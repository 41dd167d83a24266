//! The names of fields that a struct serializes by reference.

use k8s_openapi::{
    api::core::v1::{Container, PodStatus},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{CustomResourceDefinition, JSONSchemaProps},
};
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeStruct},
};
use serde_json::json;

use super::{error, json};

#[test]
fn handwritten_names_are_those_of_the_type() {
    let status = apply!(PodStatus { pod_ips: [{ ip: "::1" }], pod_ip: "::1", nominated_node_name: "n" });
    assert_eq!(
        json(&status),
        json!({ "podIPs": [{ "ip": "::1" }], "podIP": "::1", "nominatedNodeName": "n" })
    );
    let schema = apply!(JSONSchemaProps { ref_path: "#/x", enum_: [], not: { type_: "object" }, x_kubernetes_int_or_string: true });
    assert_eq!(
        json(&schema),
        json!({ "$ref": "#/x", "enum": [], "not": { "type": "object" }, "x-kubernetes-int-or-string": true })
    );
    let crd = apply!(CustomResourceDefinition { spec: { names: { kind: "Page", plural: "pages" } } });
    assert_eq!(json(&crd)["spec"]["names"], json!({ "kind": "Page", "plural": "pages" }));
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Derived {
    two_words: Option<i32>,
    #[serde(rename = "fooBar")]
    x: i32,
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_if_none: Option<bool>,
    #[serde(rename(serialize = "out", deserialize = "in"))]
    way: String,
    mode: Option<Mode>,
    inner: Inner,
    tagged: Tagged,
    any: Any,
    optional_option: Option<Option<i32>>,
    unit: (),
}

#[derive(Clone, Default, Serialize)]
struct Inner {
    v: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Lru,
}

#[derive(Serialize)]
#[serde(tag = "kind")]
enum Tagged {
    A { x: i32 },
}

impl Default for Tagged {
    fn default() -> Self {
        Self::A { x: 0 }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Any {
    Text(String),
    Number(i32),
}

impl Default for Any {
    fn default() -> Self {
        Self::Number(0)
    }
}

#[test]
fn derived_names_follow_the_attributes_of_serde() {
    let value = apply!(Derived {
        two_words: 2,
        x: 1,
        r#type: "t",
        skipped_if_none: false,
        way: "w",
        mode: Mode::Lru,
        inner: { v: 0 },
        tagged: Tagged::A { x: 4 },
        any: Any::Text("a".into()),
        optional_option: Some(Some(5)),
    });
    assert_eq!(
        json(&value),
        json!({
            "twoWords": 2, "fooBar": 1, "type": "t", "skippedIfNone": false, "out": "w", "mode": "lru", "inner": { "v": 0 },
            "tagged": { "kind": "A", "x": 4 }, "any": "a", "optionalOption": 5,
        })
    );
}

#[derive(Clone, Copy, Default, Serialize)]
struct Empty {}

#[derive(Clone, Copy, Default, Serialize)]
struct Nothing;

#[derive(Default, Serialize)]
struct ZeroSized {
    #[serde(rename = "e")]
    empty: Empty,
    #[serde(rename = "n")]
    nothing: Nothing,
    first: u64,
    #[serde(rename = "w")]
    wrapper: Wrapper,
}

/// Its first field has its address.
#[derive(Clone, Default, Serialize)]
struct Wrapper {
    first: u64,
}

#[test]
fn fields_at_the_same_address_are_told_apart_by_their_types() {
    assert_eq!(json(&apply!(ZeroSized { empty: {} })), json!({ "e": {} }));
    assert_eq!(json(&apply!(ZeroSized { nothing: Nothing })), json!({ "n": null }));
    assert_eq!(
        json(&apply!(ZeroSized { empty: Empty {}, nothing: Nothing, first: 1, wrapper: { first: 2 } })),
        json!({ "e": {}, "n": null, "first": 1, "w": { "first": 2 } })
    );
}

#[derive(Default, Serialize)]
struct Twins {
    one: Empty,
    other: Empty,
}

#[test]
fn two_fields_of_one_type_at_one_address_are_an_error() {
    let error = error(&apply!(Twins { other: {} }));
    assert!(error.starts_with("Twins.other: "), "{error}");
    assert!(error.ends_with("serializes it under several names: one, other"), "{error}");
}

/// Serializes a part of a field under another name.
#[derive(Default)]
struct HandsOutParts {
    wrapper: Wrapper,
    list: Vec<Wrapper>,
    size: i32,
}

impl Serialize for HandsOutParts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_struct("HandsOutParts", 2)?;
        all.serialize_field("wrapper", &self.wrapper.first)?;
        if let Some(first) = self.list.first() {
            all.serialize_field("list", first)?;
        }
        all.serialize_field("size", &self.size)?;
        all.end()
    }
}

#[test]
fn a_part_of_a_field_does_not_tell_the_name_of_the_field() {
    let parts = |error: &str| error.contains("serializes a part of this field, but not the field");
    let first = error(&apply!(HandsOutParts { wrapper: { first: 1 }, size: 2 }));
    assert!(first.starts_with("HandsOutParts.wrapper: ") && parts(&first), "{first}");
    let whole = error(&apply!(HandsOutParts { wrapper: Wrapper { first: 1 } }));
    assert!(parts(&whole), "{whole}");
    let list = error(&apply!(HandsOutParts { list: [{ first: 1 }] }));
    assert!(list.starts_with("HandsOutParts.list: "), "{list}");
    assert_eq!(json(&apply!(HandsOutParts { size: 2 })), json!({ "size": 2 }));
}

/// Serializes what is in its options, as k8s-openapi does, as a map.
#[derive(Default)]
struct ByHand {
    text: Option<String>,
    unit: Option<()>,
    number: Option<u8>,
    again: i32,
}

impl Serialize for ByHand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_map(None)?;
        if let Some(text) = &self.text {
            all.serialize_entry("t", text)?;
        }
        if let Some(unit) = &self.unit {
            all.serialize_entry(&String::from("u"), unit)?;
        }
        if let Some(number) = &self.number {
            all.serialize_key("n")?;
            all.serialize_value(number)?;
        }
        all.serialize_entry("again", &self.again)?;
        all.serialize_entry("old", &self.again)?;
        all.end()
    }
}

#[test]
fn the_value_of_an_option_tells_the_name_as_well() {
    assert_eq!(
        json(&apply!(ByHand { text: "a", unit: (), number: 1 })),
        json!({ "t": "a", "u": null, "n": 1 })
    );
    let twice = error(&apply!(ByHand { again: 1 }));
    assert!(twice.ends_with("serializes it under several names: again, old"), "{twice}");
}

#[test]
fn a_struct_is_named_wherever_it_is() {
    let list: Vec<_> =
        (0..100).map(|number| apply!(Container { name: number.to_string(), tty: true })).collect();
    for (number, container) in list.iter().enumerate() {
        assert_eq!(json(container), json!({ "name": number.to_string(), "tty": true }));
    }
}

#[derive(Default, Serialize)]
#[serde(transparent)]
struct Transparent {
    inner: Inner,
}

#[derive(Clone, Default, Serialize)]
#[serde(into = "String")]
struct AsText {
    number: i32,
}

impl From<AsText> for String {
    fn from(text: AsText) -> Self {
        text.number.to_string()
    }
}

#[test]
fn a_struct_that_is_serialized_as_something_else_is_an_error_in_braces_and_a_leaf_as_a_whole() {
    let text = error(&apply!(AsText { number: 1 }));
    assert!(
        text.contains("is not serialized as an object that has its fields; write a whole value"),
        "{text}"
    );
    let inner = error(&apply!(Transparent { inner: { v: 1 } }));
    assert!(inner.starts_with("Transparent.inner: "), "{inner}");

    #[derive(Default, Serialize)]
    struct Whole {
        text: AsText,
        transparent: Option<Transparent>,
    }
    let whole =
        apply!(Whole { text: AsText { number: 1 }, transparent: Transparent { inner: Inner { v: 2 } } });
    assert_eq!(json(&whole), json!({ "text": "1", "transparent": { "v": 2 } }));
}
