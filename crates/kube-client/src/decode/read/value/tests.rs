//! Decoding with hints gives what serde_json gives, value by value.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::marker::PhantomData;

use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value, json};

use super::*;
use crate::decode::split::lengths_of;

fn hinted<T: DeserializeOwned>(json: &str, prune: Prune) -> Result<T, serde_json::Error> {
    read(json.as_bytes(), &lengths_of(json.as_bytes()), &prune, PhantomData)
}

fn managed_fields() -> Prune {
    Prune::default().managed_fields()
}

/// Asserts the same value or error as serde_json, with any hints.
fn same<T: DeserializeOwned + PartialEq + Debug>(json: &str) {
    let alone = serde_json::from_str::<T>(json).map_err(|err| err.to_string());
    for prune in [Prune::default(), managed_fields(), managed_fields().within_event()] {
        for lengths in [&lengths_of(json.as_bytes())[..], &[], &[u32::MAX]] {
            let read: Result<T, _> = read(json.as_bytes(), lengths, &prune, PhantomData);
            assert_eq!(read.map_err(|err| err.to_string()), alone, "{json} {prune:?} {lengths:?}");
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

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
fn every_kind_of_type_is_decoded() {
    same::<Odd>(
        r#"{"unit":null,"pair":[1,"x"],"letter":"é","variants":["Unit",{"Unit":null},{"Newtype":-5},{"Tuple":[1,2]},
        {"Struct":{"a":"\n","unknown":[1,{"b":[]}]}}],"byVariant":{"A":1,"B":0.5},"wrapped":{"a":1.5,"b":"s","c":[true]},
        "flat":{"known":"k","x":[1],"y":{"z":null}}}"#,
    );
    same::<u128>("340282366920938463463374607431768211455");
    same::<i128>("-170141183460469231731687303715884105728");
    let raw: BTreeMap<i32, Box<RawValue>> =
        hinted(r#"{"1":{"b":2},"2":[ ]}"#, Prune::default()).expect("valid");
    assert_eq!((raw[&1].get(), raw[&2].get()), (r#"{"b":2}"#, "[ ]"));
}

/// Relevant with `serde_json/arbitrary_precision`, which `cargo xtask test` enables.
#[test]
fn numbers_keep_the_digits_that_serde_json_keeps() {
    for json in ["1.00", "0.1e1", "-0", "123456789012345678901234567890", "0.10000000000000000555", "1E400"] {
        let text = |number: Result<Number, serde_json::Error>| {
            number.map(|number| number.to_string()).map_err(|err| err.to_string())
        };
        assert_eq!(text(hinted(json, managed_fields())), text(serde_json::from_str(json)), "{json}");
        same::<Value>(&format!(r#"{{"metadata":{{"a":{json}}},"spec":[{json},{{"b":[{json}]}}]}}"#));
    }
}

#[test]
fn errors_equal_those_of_serde_json() {
    for json in [
        r#"{"metadata":{"name":5}}"#,
        r#"{"spec":"x"}"#,
        "{",
        "",
        "\"a\u{1}\"",
        "[1,]",
        "{}x",
        "{\"metadata\":{5}}",
    ] {
        same::<Pod>(json);
        same::<Value>(json);
    }
}

#[test]
fn text_that_is_not_utf8_is_the_error_of_serde_json() {
    for broken in [
        &b"\"\xFF\""[..],
        b"{\"a\": [1, \"b\"],\n \"c\": \"d\xC3\"}",
        b"{\"a\": 5, \"\xFF\": 5}",
        b"[\"a\xE2\x82",
        b"[\xFF]",
        b"\xFF",
        b"[5] \xFF",
    ] {
        let err =
            read::<PhantomData<Value>>(broken, &[], &Prune::default(), PhantomData).expect_err("not UTF-8");
        let plain = read_plain::<Value>(broken).expect_err("not UTF-8");
        let expected = serde_json::from_slice::<Value>(broken).expect_err("not UTF-8");
        assert_eq!(err.to_string(), expected.to_string());
        assert_eq!(plain.to_string(), expected.to_string());
        assert_eq!((err.classify(), plain.classify()), (expected.classify(), expected.classify()));
    }
    // Of two errors it may be the other.
    assert!(read_plain::<Value>(b"[\"\xFF\"").is_err());
}

#[test]
fn excessive_nesting_is_an_error() {
    for (depth, fine) in [(127, true), (128, false), (10_000, false)] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let innermost = if open == "[" { "" } else { "1" };
            let json = format!("{}{innermost}{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(hinted::<Value>(&json, managed_fields()).is_ok(), fine, "{depth}");
            // Ignored values may be nested to any depth.
            let ignored =
                format!(r#"{{"metadata":{{"name":"a"}},"unknown":{json},"spec":{{"containers":[]}}}}"#);
            same::<Pod>(&ignored);
        }
    }
}

#[test]
fn arrays_are_allocated_with_their_exact_size() {
    let json = json!([[1, 2, 3], [], ["a"]]).to_string();
    let read = hinted::<Vec<Vec<Value>>>(&json, Prune::default()).expect("valid");
    let capacities: Vec<_> = read.iter().map(Vec::capacity).collect();
    assert_eq!((read.capacity(), capacities), (3, vec![3, 0, 1]));
    // Also after ignored arrays, in enum variants, and after skipped fields.
    let json = r#"{"unknown":[[1],[2,3]],"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}}"#;
    let pod = hinted::<Pod>(json, Prune::default()).expect("valid");
    assert_eq!(pod.spec.expect("it has one").containers.capacity(), 3);
    let json = r#"{"metadata":{"managedFields":[{"a":[1,2,3,4]}]},"spec":{"containers":[{"name":"a"}]}}"#;
    let pod = hinted::<Pod>(json, managed_fields()).expect("valid");
    assert_eq!(pod.spec.expect("it has one").containers.capacity(), 1);
    let (_, after): (Variants, Vec<u8>) =
        hinted(r#"[{"Tuple":[1,2]},[1,2,3]]"#, Prune::default()).expect("valid");
    assert_eq!(after.capacity(), 3);
    // A wrong length does not decide how much is allocated.
    let few: Vec<u8> = read_with(&[u32::MAX], "[1]");
    assert_eq!(few, [1]);
}

/// The lengths of arrays within raw values are consumed.
#[test]
fn arrays_after_raw_values_are_allocated_with_their_exact_size() {
    type Kept = (Box<RawValue>, Vec<u8>, Box<RawValue>, Box<RawValue>, Vec<u8>);
    type Lent<'a> = (&'a RawValue, Vec<u8>, &'a RawValue, &'a RawValue, Vec<u8>);
    let json = r#"[{"a":[[1],[2]],"b":"["},[1,2,3],"[",[],[4]]"#;
    let (raw, second, _, empty, last) = hinted::<Kept>(json, Prune::default()).expect("valid");
    assert_eq!((raw.get(), empty.get()), (r#"{"a":[[1],[2]],"b":"["}"#, "[]"));
    assert_eq!((second.capacity(), last.capacity()), (3, 1));
    let lengths = lengths_of(json.as_bytes());
    let lent: Lent<'_> = read(json.as_bytes(), &lengths, &Prune::default(), PhantomData).expect("valid");
    assert_eq!((lent.0.get(), lent.1.capacity(), lent.4.capacity()), (raw.get(), 3, 1));
}

fn read_with<T: DeserializeOwned>(lengths: &[u32], json: &str) -> T {
    read(json.as_bytes(), lengths, &Prune::default(), PhantomData).expect("valid")
}

#[test]
fn managed_fields_are_skipped_on_request() {
    let fields = r#"[{"manager":"m","fieldsV1":{"f:a":[1,[2]]}}]"#;
    let object = format!(
        r#"{{"managedFields":1,"metadata":{{"managedFields":{fields},"name":"a","labels":{{"managedFields":"l"}},"managedFields":[]}},
        "spec":{{"metadata":{{"managedFields":2}},"list":[1,2]}}}}"#
    );
    let kept = hinted::<Value>(&object, Prune::default()).expect("valid");
    assert!(kept["metadata"]["managedFields"].is_array());
    let pruned = hinted::<Value>(&object, managed_fields()).expect("valid");
    let expected = json!({"managedFields": 1, "metadata": {"name": "a", "labels": {"managedFields": "l"}},
        "spec": {"metadata": {"managedFields": 2}, "list": [1, 2]}});
    assert_eq!(pruned, expected);
    let escaped = r#"{"metadata":{"managed\u0046ields":1,"n\u0061me":"a"}}"#;
    assert_eq!(
        hinted::<Value>(escaped, managed_fields()).expect("valid"),
        json!({"metadata": {"name": "a"}})
    );
    let event = format!(r#"{{"type":"ADDED","metadata":{{"managedFields":[]}},"object":{object}}}"#);
    let pruned = hinted::<Value>(&event, managed_fields().within_event()).expect("valid");
    assert_eq!((&pruned["object"], &pruned["metadata"]), (&expected, &json!({"managedFields": []})));
    for odd in [r#"{"metadata":null}"#, r#"{"metadata":[1],"a":{"managedFields":1}}"#, "5", "[]"] {
        same::<Value>(odd);
    }
    // Skipped fields must still be valid JSON.
    assert!(hinted::<Value>(r#"{"metadata":{"managedFields":[1,]}}"#, managed_fields()).is_err());
}

#[test]
fn any_path_is_skipped_also_in_each_element_of_an_array() {
    let object = json!({
        "metadata": {"name": "a", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "b": "c"}},
        "spec": {"containers": [{"name": "x", "env": [1]}, {"env": [], "name": "y"}], "env": 1},
        "status": {"phase": "Running"},
    });
    let prune = Prune::default().status().last_applied().path(["spec", "containers", "env"]);
    let expected = json!({
        "metadata": {"name": "a", "annotations": {"b": "c"}},
        "spec": {"containers": [{"name": "x"}, {"name": "y"}], "env": 1},
    });
    assert_eq!(hinted::<Value>(&object.to_string(), prune.clone()).expect("valid"), expected);
    let event = json!({"type": "ADDED", "object": object, "status": 1}).to_string();
    let pruned = hinted::<Value>(&event, prune.within_event()).expect("valid");
    assert_eq!(pruned, json!({"type": "ADDED", "object": expected, "status": 1}));
    let pod = json!({"metadata": {}, "spec": {"containers": [{"name": "x", "env": [{"name": "e"}]}]}, "status": {}});
    let pod: Pod = hinted(&pod.to_string(), prune).expect("valid");
    assert_eq!((pod.status, &pod.spec.expect("it has a spec").containers[0].env), (None, &None));
}

/// Keys are text in JSON; serde_json decodes them as the type of the map's keys.
#[test]
fn keys_of_any_type_are_decoded_beside_skipped_fields() {
    fn beside<K: DeserializeOwned + Ord + Debug>(keys: [&str; 2]) {
        let [a, b] = keys;
        let json = format!(r#"{{"skipped":1,"{a}":{{"x":1,"y":2}},"{b}":{{}}}}"#);
        let kept = format!(r#"{{"{a}":{{"y":2}},"{b}":{{}}}}"#);
        let prune = Prune::default().path(["skipped"]).path([a, "x"]);
        let read: BTreeMap<K, Value> = hinted(&json, prune).expect("valid");
        assert_eq!(read, serde_json::from_str(&kept).expect("valid"));
    }
    beside::<u16>(["80", "443"]);
    beside::<i64>(["-1", "9223372036854775807"]);
    beside::<u128>(["340282366920938463463374607431768211455", "0"]);
    beside::<bool>(["true", "false"]);
    beside::<Key>(["A", "B"]);
    beside::<Option<u8>>(["1", "2"]);
    beside::<Name>(["a", "b"]);
    beside::<char>(["a", "b"]);
    beside::<String>(["1", "\u{e9}"]);
    for wrong in [
        r#"{"65536":1}"#,
        r#"{"-1":1}"#,
        r#"{"a":1}"#,
        r#"{"1 ":1}"#,
        r#"{" 1":1}"#,
        r#"{"":1}"#,
        r#"{"1.5":1}"#,
    ] {
        let error = hinted::<BTreeMap<u16, Value>>(wrong, Prune::default().path(["x"]));
        assert!(serde_json::from_str::<BTreeMap<u16, Value>>(wrong).is_err() && error.is_err(), "{wrong}");
    }
}

proptest::proptest! {
    /// Any JSON, valid or not, has the same value or error as with serde_json.
    #[test]
    fn agrees_with_serde_json(value in values(), damage in 0..200_usize, with in proptest::num::u8::ANY) {
        let json = value.to_string();
        same::<Value>(&json);
        let mut bytes = json.into_bytes();
        if let Some(byte) = bytes.get_mut(damage) {
            *byte = with;
        }
        if let Ok(text) = std::str::from_utf8(&bytes) {
            same::<Value>(text);
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
