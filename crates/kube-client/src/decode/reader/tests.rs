use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::marker::PhantomData;

use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::lengths::lengths_of;
use super::*;

/// Without serde_json to fall back on.
fn alone<T: DeserializeOwned>(json: &str, prune: Prune) -> Option<T> {
    let lengths = lengths_of(json.as_bytes());
    let mut reader = Reader::new(json, &lengths, prune);
    let value = T::deserialize(&mut reader).ok()?;
    reader.is_at_end().then_some(value)
}

fn whole<T: DeserializeOwned>(json: &str, prune: Prune) -> Result<T, serde_json::Error> {
    read(json.as_bytes(), &lengths_of(json.as_bytes()), prune, || PhantomData)
}

fn same<T: DeserializeOwned + PartialEq + Debug>(json: &str) {
    let theirs: T = serde_json::from_str(json).expect(json);
    assert_eq!(alone::<T>(json, Prune::default()).expect(json), theirs, "{json}");
}

#[test]
fn values_are_those_of_serde_json() {
    for json in [
        "null",
        " true ",
        "false",
        "0",
        "-0",
        "7",
        "-7",
        "1.5",
        "-0.25e-3",
        "1E400000000000000000000".get(..3).unwrap(),
        "999999999999999999",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        r#""""#,
        r#""plain""#,
        r#""longer than eight bytes, with ümläuts""#,
        r#""\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00 and more""#,
        r#""ends with a backslash\\""#,
        "[]",
        "[ ]",
        "[1, [2], {\"a\": []}]",
        "{}",
        "{ }",
        r#" { "a" : 1 , "b\n" : { "c" : [ null ] } } "#,
    ] {
        same::<Value>(json);
    }
}

#[test]
fn what_is_no_json_is_refused() {
    for json in [
        "",
        " ",
        "nul",
        "nulll",
        "tru",
        "TRUE",
        "01",
        "-",
        "+1",
        "1.",
        ".5",
        "1e",
        "1.e5",
        "--1",
        "1 2",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\n\"",
        "\"12345678\u{1}\"",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{",
        "}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{\"a\" 1}",
        "{1:2}",
        "{\"a\":1]",
        "{}}",
        "[]]",
        "'a'",
        "nan",
        "\u{feff}1",
    ] {
        assert!(serde_json::from_str::<Value>(json).is_err(), "{json}");
        assert!(alone::<Value>(json, Prune::default()).is_none(), "{json}");
        // The same within a part that nobody wants.
        let ignored = format!("[{json},{{\"a\":{json}}}]");
        if serde_json::from_str::<Value>(&ignored).is_err() {
            assert!(alone::<serde::de::IgnoredAny>(&ignored, Prune::default()).is_none(), "{ignored}");
        }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct Odd {
    unit: (),
    pair: (u8, String),
    letter: char,
    variants: Vec<Variants>,
    by_variant: HashMap<Key, f32>,
    #[serde(default)]
    missing: Option<bool>,
    wrapped: Option<Wrapped>,
    flat: Flat,
}

#[derive(Debug, Deserialize, PartialEq)]
enum Variants {
    Unit,
    Newtype(i64),
    Tuple(u8, u8),
    Struct { a: String },
}

#[derive(Debug, Deserialize, PartialEq, Eq, Hash)]
enum Key {
    A,
    B,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Wrapped(BTreeMap<Name, Untagged>);

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Name(String);

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Text(String),
    List(Vec<bool>),
}

#[derive(Debug, Deserialize, PartialEq)]
struct Flat {
    known: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[test]
fn every_shape_of_type_is_read() {
    let json = r#"{"unit":null,"pair":[1,"x"],"letter":"é","variants":["Unit",{"Unit":null},{"Newtype":-5},{"Tuple":[1,2]},
        {"Struct":{"a":"\n","unknown":[1,{"b":[]}]}}],"byVariant":{"A":1,"B":0.5},"wrapped":{"a":1.5,"b":"s","c":[true]},
        "flat":{"known":"k","x":[1],"y":{"z":null}}}"#;
    same::<Odd>(json);
}

#[test]
fn what_only_serde_json_has_is_left_to_it() {
    let json = r#"{"1":{"b":2},"2":[ ]}"#;
    let raw: BTreeMap<i32, Box<RawValue>> = whole(json, Prune::default()).expect("serde_json reads it");
    assert_eq!((raw[&1].get(), raw[&2].get()), (r#"{"b":2}"#, "[ ]"));
    assert!(alone::<BTreeMap<i32, Value>>(json, Prune::default()).is_none());
    assert_eq!(
        whole::<u128>("340282366920938463463374607431768211455", Prune::default()).ok(),
        Some(u128::MAX)
    );
}

#[test]
fn errors_are_those_of_serde_json() {
    for json in [r#"{"metadata":{"name":5}}"#, r#"{"spec":"x"}"#, "{", "\"a\u{1}\"", "[1,]"] {
        let ours = whole::<Pod>(json, Prune::default()).expect_err(json).to_string();
        assert_eq!(ours, serde_json::from_str::<Pod>(json).expect_err(json).to_string());
    }
    let broken = [b'"', 0xFF, b'"'];
    assert!(read::<PhantomData<Value>>(&broken, &[], Prune::default(), || PhantomData).is_err());
}

#[test]
fn depth_without_end_is_an_error() {
    for (depth, fine) in [(127, true), (128, false), (10_000, false)] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let json = format!(
                "{}{}{}",
                open.repeat(depth),
                if open == "[" { "" } else { "1" },
                close.repeat(depth)
            );
            assert_eq!(whole::<Value>(&json, Prune::default()).is_ok(), fine, "{depth}");
            assert_eq!(alone::<Value>(&json, Prune::default()).is_some(), fine, "{depth}");
            assert_eq!(alone::<serde::de::IgnoredAny>(&json, Prune::default()).is_some(), fine, "{depth}");
        }
    }
}

#[test]
fn arrays_get_the_room_they_need() {
    let json = json!([[1, 2, 3], [], ["a"]]).to_string();
    let read = alone::<Vec<Vec<Value>>>(&json, Prune::default()).expect("valid");
    let room: Vec<_> = read.iter().map(Vec::capacity).collect();
    assert_eq!((read.capacity(), room), (3, vec![3, 0, 1]));
    // Also behind arrays that nobody reads.
    let json = r#"{"unknown":[[1],[2,3]],"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}}"#;
    let pod = alone::<Pod>(json, Prune::default()).expect("valid");
    assert_eq!(pod.spec.expect("it has one").containers.capacity(), 3);
}

#[test]
fn managed_fields_are_passed_over_where_nobody_wants_them() {
    let fields = r#"[{"manager":"m","fieldsV1":{"f:a":[1,[2]]}}]"#;
    let object = format!(
        r#"{{"managedFields":1,"metadata":{{"managedFields":{fields},"name":"a","labels":{{"managedFields":"l"}},"managedFields":[]}},
        "spec":{{"metadata":{{"managedFields":2}},"list":[1,2]}}}}"#
    );
    let kept = alone::<Value>(&object, Prune::default()).expect("valid");
    assert!(kept["metadata"]["managedFields"].is_array());
    let pruned = alone::<Value>(&object, Prune::managed_fields()).expect("valid");
    let expected = json!({"managedFields": 1, "metadata": {"name": "a", "labels": {"managedFields": "l"}},
        "spec": {"metadata": {"managedFields": 2}, "list": [1, 2]}});
    assert_eq!(pruned, expected);
    let event = format!(r#"{{"type":"ADDED","metadata":{{"managedFields":[]}},"object":{object}}}"#);
    let pruned = alone::<Value>(&event, Prune::managed_fields().within_event()).expect("valid");
    assert_eq!((&pruned["object"], &pruned["metadata"]), (&expected, &json!({"managedFields": []})));
    for odd in [r#"{"metadata":null}"#, r#"{"metadata":[{"managedFields":1}],"a":{"managedFields":1}}"#] {
        assert_eq!(alone::<Value>(odd, Prune::managed_fields()), serde_json::from_str(odd).ok());
    }
}

proptest::proptest! {
    /// Whatever comes: what this reader accepts, serde_json accepts, with the same value; and it accepts whatever is printed.
    #[test]
    fn agrees_with_serde_json(value in values(), damage in 0..200_usize, with in proptest::num::u8::ANY) {
        let json = value.to_string();
        proptest::prop_assert_eq!(alone::<Value>(&json, Prune::default()), serde_json::from_str(&json).ok());
        let mut bytes = json.into_bytes();
        if let Some(byte) = bytes.get_mut(damage) {
            *byte = with;
        }
        if let Ok(text) = std::str::from_utf8(&bytes)
            && let Some(ours) = alone::<Value>(text, Prune::default())
        {
            proptest::prop_assert_eq!(serde_json::from_str::<Value>(text).ok(), Some(ours));
        }
    }
}

fn values() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[ -~\"\\\\]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[a-zA-Z\"\\n]{0,10}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}
