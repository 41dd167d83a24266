//! Compares with objects that Go printed and encoded, and with recorded bodies of `kubectl`.

use std::sync::LazyLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Undecoded, decode, encode, openapi_document, watch_frame,
    wire::{Reader, WireValue, put_bytes},
};
use crate::{
    gotypes::{self, GoType, Scalar},
    scheme::{Scheme, openapi_v2},
};

/// Lines of `{"object", "protobuf"}` of every stable kind: of zero values, and with every field.
static SAMPLES: &str = include_str!("recorded/samples.jsonl");
/// Lines of `{"command", "body", "object"}`: what `kubectl create` sent, and the same object as it prints it.
static RECORDED: &str = include_str!("recorded/kubectl.jsonl");
const NONE: (&str, &str) = ("", "");

fn lines(text: &'static str, name: &'static str) -> impl Iterator<Item = (Value, Vec<u8>)> {
    text.lines().map(move |line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let bytes = BASE64_STANDARD.decode(record[name].as_str().unwrap()).unwrap();
        (record["object"].take(), bytes)
    })
}

fn bytes(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, number, content);
    out
}

fn envelope(kind: &str, raw: &[u8]) -> Vec<u8> {
    let kind = [bytes(1, b"v1"), bytes(2, kind.as_bytes())].concat();
    [b"k8s\0", &*bytes(1, &kind), &bytes(2, raw), &bytes(3, b""), &bytes(4, b"")].concat()
}

/// Drops empty values: `kubectl` prints Go structs even when they are empty.
fn solid(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(map) => {
            let solid = map.iter().filter_map(|(name, value)| Some((name.clone(), solid(value)?)));
            let solid: serde_json::Map<_, _> = solid.collect();
            (!solid.is_empty()).then_some(Value::Object(solid))
        }
        Value::Array(list) => Some(list.iter().filter_map(solid).collect()),
        other => Some(other.clone()),
    }
}

#[test]
fn objects_are_encoded_as_go_encodes_them() {
    for (object, expected) in lines(SAMPLES, "protobuf") {
        let encoded = encode(&object).unwrap_or_else(|why| panic!("{object}: {why}"));
        let same = encoded.iter().zip(&expected).take_while(|(a, b)| a == b).count();
        let (got, want) = (&encoded[same..], &expected[same..]);
        assert!(encoded == expected, "{} from {same}: {got:?}, not {want:?}", object["kind"]);
    }
}

#[test]
fn objects_are_decoded_as_go_prints_them() {
    for (object, encoded) in lines(SAMPLES, "protobuf") {
        assert_eq!(decode(&encoded, NONE), Ok(object));
    }
}

#[test]
fn samples_have_every_field_of_their_kinds() {
    let filled: Vec<Value> =
        lines(SAMPLES, "protobuf").map(|(object, _)| object).skip(1).step_by(2).collect();
    assert!(filled.len() > 80);
    for object in filled {
        let message =
            gotypes::of_kind(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        for field in message.unwrap().members() {
            assert!(!object[field.name].is_null(), "{}.{}", object["kind"], field.name);
        }
    }
}

#[test]
fn recorded_kubectl_bodies_are_decoded_and_encoded_again() {
    assert!(RECORDED.lines().count() >= 18);
    for (mut printed, body) in lines(RECORDED, "body") {
        let read = decode(&body, NONE).unwrap();
        printed["metadata"]["creationTimestamp"] = Value::Null;
        assert_eq!(solid(&read), solid(&printed));
        assert_eq!(decode(&encode(&read).unwrap(), NONE), Ok(read));
    }
}

#[test]
fn a_body_without_a_type_is_of_the_expected_kind() {
    let raw = bytes(1, &bytes(1, b"a"));
    let body = [b"k8s\0", &*bytes(2, &raw)].concat();
    let expected = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    assert_eq!(decode(&body, ("v1", "ConfigMap")), Ok(expected));
}

/// As on 1.37: unknown fields and the encoding named around the object are skipped, texts may be any bytes, parts of a message are
/// merged.
#[test]
fn what_go_reads_is_read() {
    let named = bytes(1, &bytes(1, b"a"));
    let expected = |more: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Ok(object)
    };
    let unknown = [&*named, &bytes(77, b"xx"), &[78 << 3 & 0x7f | 0x80, 4, 5]].concat();
    assert_eq!(decode(&envelope("ConfigMap", &unknown), NONE), expected(json!({})));
    let mut zipped = envelope("ConfigMap", &named);
    zipped.extend([bytes(3, b"gzip"), bytes(4, b"application/json"), bytes(9, b"")].concat());
    assert_eq!(decode(&zipped, NONE), expected(json!({})));
    let entry = [bytes(1, b"k"), bytes(2, b"\xff")].concat();
    let any = [&*named, &bytes(2, &entry), &bytes(2, &bytes(1, b"k2"))].concat();
    assert_eq!(
        decode(&envelope("ConfigMap", &any), NONE),
        expected(json!({"data": {"k": "\u{fffd}", "k2": ""}}))
    );
    let label = bytes(11, &[bytes(1, b"l"), bytes(2, b"v")].concat());
    let parts = [&*named, &bytes(1, &label)].concat();
    let merged = json!({"metadata": {"name": "a", "labels": {"l": "v"}}});
    assert_eq!(decode(&envelope("ConfigMap", &parts), NONE), expected(merged));
    let packed = bytes(2, &bytes(14, &bytes(4, &[7, 0x80, 1])));
    let pod = decode(&envelope("Pod", &packed), NONE).unwrap();
    assert_eq!(pod["spec"]["securityContext"]["supplementalGroups"], json!([7, 128]));
}

#[test]
fn undecodable_bodies_are_reported() {
    let body = |bytes: &[u8]| match decode(bytes, ("v1", "ConfigMap")) {
        Err(Undecoded::Body(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(body(b""), "empty data");
    assert_eq!(body(b"k8s\0"), "empty body");
    assert_eq!(body(b"k8s\0\xff"), "unexpected EOF");
    assert!(body(b"{}").contains("expected prefix [107 56 115 0]"));
    let object = |kind: &str, raw: &[u8]| match decode(&envelope(kind, raw), NONE) {
        Err(Undecoded::Object { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert!(object("Unknown", b"").contains("no kind \"Unknown\" is registered for version \"v1\""));
    assert_eq!(object("ConfigMap", &[10, 50]), "unexpected EOF");
    assert_eq!(object("ConfigMap", &[8, 50]), "proto: wrong wireType = 0 for field metadata");
    assert_eq!(object("ConfigMap", &[11]), "proto: wrong wireType = 3 for field 1");
}

/// Schemas contain schemas without an end.
#[test]
fn deep_schemas_are_an_error_and_no_overflow() {
    let schema = |inner: &[u8]| bytes(28, inner); // `not`
    let deep = (0..10_000).fold(Vec::new(), |inner, _| schema(&inner));
    let version = bytes(7, &bytes(4, &bytes(1, &deep)));
    let raw = bytes(2, &version);
    let kind = [bytes(1, b"apiextensions.k8s.io/v1"), bytes(2, b"CustomResourceDefinition")].concat();
    let body = [b"k8s\0", &*bytes(1, &kind), &bytes(2, &raw)].concat();
    let Err(Undecoded::Object { why, .. }) = decode(&body, NONE) else { panic!("an error") };
    assert!(why.contains("nested too deeply"), "{why}");
}

#[test]
fn values_of_a_wrong_type_are_named() {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": 5}]}});
    assert_eq!(encode(&object).unwrap_err(), "spec: containers: name: expected a text, not 5");
    let custom = json!({"apiVersion": "e.com/v1", "kind": "Foo"});
    assert!(encode(&custom).unwrap_err().contains("\"Foo\""));
}

#[test]
fn an_event_is_framed_by_its_length() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let frame = watch_frame(&json!({"type": "ADDED", "object": map})).unwrap();
    assert_eq!(frame[..4], u32::try_from(frame.len() - 4).unwrap().to_be_bytes());
    let fields: Vec<_> = Reader(&frame[4..]).map(Result::unwrap).collect();
    assert_eq!((fields[0].0, fields[0].1.bytes()), (1, &b"ADDED"[..]));
    let object = Reader(fields[1].1.bytes()).next().unwrap().unwrap().1.bytes();
    assert_eq!(object, encode(&map).unwrap());
}

/// A reader of OpenAPI messages finds each definition by its name, with its group, version and kind.
#[test]
fn the_openapi_document_has_all_definitions() {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi_v2::document(&Scheme::with_built_in()));
    let encoded = openapi_document(&DOCUMENT).unwrap();
    let field = |bytes: &[u8], number: u32| -> Vec<Vec<u8>> {
        let values = Reader(bytes).map(Result::unwrap).filter(|(read, _)| *read == number);
        values.map(|(_, value)| value.bytes().to_vec()).collect()
    };
    let definitions = field(&field(&encoded, 9)[0], 1);
    assert_eq!(definitions.len(), DOCUMENT["definitions"].as_object().unwrap().len());
    let pod = definitions.iter().find(|named| field(named, 1)[0] == b"io.k8s.api.core.v1.Pod").unwrap();
    let schema = &field(pod, 2)[0];
    let extension = &field(schema, 31)[0];
    assert_eq!(field(extension, 1)[0], b"x-kubernetes-group-version-kind");
    let yaml = &field(&field(extension, 2)[0], 2)[0];
    let kinds: Value = serde_json::from_slice(yaml).unwrap();
    assert_eq!(kinds[0]["kind"], "Pod");
    assert_eq!(field(&field(schema, 22)[0], 1)[0], b"object");
    let paths = field(&field(&encoded, 8)[0], 2);
    assert_eq!(paths.len(), DOCUMENT["paths"].as_object().unwrap().len());
}

#[test]
fn numbers_on_the_wire() {
    let read: Vec<_> =
        Reader(&[8, 0x96, 1, 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f]).map(Result::unwrap).collect();
    assert!(
        matches!(read[..], [(1, WireValue::Number(150)), (2, WireValue::Fixed(bits))] if f64::from_bits(bits) == 1.5)
    );
    assert!(Reader(&[0]).next().unwrap().is_err());
    assert!(Reader(&[8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]).next().unwrap().is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_an_error(raw in prop::collection::vec(any::<u8>(), 0..60), line in 0..190usize, at in 0..4000usize) {
        drop(decode(&raw, NONE));
        drop(decode(&[b"k8s\0", &*raw].concat(), NONE));
        for kind in ["ConfigMap", "Pod", "DeleteOptions"] {
            drop(decode(&envelope(kind, &raw), NONE));
        }
        let (_, mut sample) = lines(SAMPLES, "protobuf").nth(line).unwrap();
        let at = at % sample.len();
        sample.splice(at.., raw);
        drop(decode(&sample, NONE));
    }

    /// What is encoded is decoded to the same, whatever a text has in it.
    #[test]
    fn config_maps_survive(data in prop::collection::btree_map("[^\u{fffd}]{0,5}", ".*", 0..5), immutable in any::<Option<bool>>()) {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        if !data.is_empty() {
            object["data"] = json!(data);
        }
        if let Some(immutable) = immutable {
            object["immutable"] = immutable.into();
        }
        prop_assert_eq!(decode(&encode(&object).unwrap(), NONE), Ok(object));
    }
}

#[test]
fn maps_of_bytes_are_base64() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": {"k": "/w==", "": ""}, "type": "Opaque"});
    assert_eq!(decode(&encode(&secret).unwrap(), NONE), Ok(secret));
    let message = gotypes::of_kind("v1", "Secret").unwrap();
    assert!(matches!(message.members()[1].ty, GoType::Map(GoType::Scalar(Scalar::Bytes, _), _)));
}
