//! Decodes recorded bodies of `kubectl` and compares them with JSON.

use base64::{Engine, prelude::BASE64_STANDARD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::decode::{MAGIC, decode};

/// Lines of `{"command", "body", "object"}`: what `kubectl create` sent, and the same object as it prints it.
static RECORDED: &str = include_str!("recorded.jsonl");

fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
}

fn envelope(kind: &str, raw: &[u8]) -> Vec<u8> {
    let kind = [bytes(1, b"v1"), bytes(2, kind.as_bytes())].concat();
    [MAGIC, &bytes(1, &kind), &bytes(2, raw), &bytes(3, b""), &bytes(4, b"")].concat()
}

/// Drops empty values: `kubectl` prints Go structs even when they are empty.
fn solid(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(map) => {
            let keep_zero = map.iter().filter_map(|(name, value)| Some((name.clone(), solid(value)?)));
            let keep_zero: serde_json::Map<_, _> = keep_zero.collect();
            (!keep_zero.is_empty()).then_some(Value::Object(keep_zero))
        }
        Value::Array(list) => Some(list.iter().filter_map(solid).collect()),
        other => Some(other.clone()),
    }
}

#[test]
fn recorded_kubectl_bodies_are_decoded() {
    assert!(RECORDED.lines().count() >= 18);
    for line in RECORDED.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let body = BASE64_STANDARD.decode(record["body"].as_str().unwrap()).unwrap();
        let read = decode(&body).unwrap_or_else(|why| panic!("{}: {why}", record["command"]));
        let mut want = record["object"].clone();
        want["metadata"]["creationTimestamp"] = Value::Null;
        want["status"] = Value::Null;
        for sometimes in [
            "/spec/template/metadata",
            "/spec/jobTemplate/metadata",
            "/spec/jobTemplate/spec/template/metadata",
        ] {
            if let Some(metadata) = want.pointer_mut(sometimes) {
                metadata["creationTimestamp"] = Value::Null;
            }
        }
        assert_eq!(solid(&read), solid(&want), "{}", record["command"]);
    }
}

#[test]
fn simple_kinds_are_read() {
    let pair = |key: &[u8], value: &[u8]| [bytes(1, key), bytes(2, value)].concat();
    let metadata = [bytes(1, b"a"), bytes(8, b""), bytes(11, &pair(b"l", b"v")), bytes(14, b"x/y")].concat();
    let secret =
        [bytes(1, &metadata), bytes(2, &pair(b"k", b"\xff")), bytes(3, b"Opaque"), vec![5 << 3, 1]].concat();
    let expected = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
        "data": {"k": "/w=="}, "metadata": {"name": "a", "labels": {"l": "v"}, "finalizers": ["x/y"]}});
    assert_eq!(decode(&envelope("Secret", &secret)), Ok(expected));
}

#[test]
fn lists_of_numbers_quantities_and_empty_texts_are_read() {
    let empty_dir = bytes(2, &bytes(2, &bytes(1, b"1Gi")));
    let volume = [bytes(1, b""), bytes(2, &empty_dir)].concat();
    let security_context = [4 << 3, 7, 4 << 3, 0];
    let spec = [bytes(1, &volume), bytes(14, &security_context)].concat();
    let expected = json!({"apiVersion": "v1", "kind": "Pod", "spec": {
        "volumes": [{"name": "", "emptyDir": {"sizeLimit": "1Gi"}}],
        "securityContext": {"supplementalGroups": [7, 0]}}});
    assert_eq!(decode(&envelope("Pod", &bytes(2, &spec))), Ok(expected));
}

#[test]
fn undecodable_bodies_are_reported() {
    assert!(decode(b"{}").unwrap_err().contains("prefix"));
    assert!(decode(&envelope("Node", b"")).unwrap_err().contains("Node of v1 is not supported"));
    assert!(decode(&envelope("ConfigMap", &bytes(9, b""))).unwrap_err().contains("field 9"));
    assert!(decode(&envelope("ConfigMap", &[10, 50])).unwrap_err().contains("truncated"));
    assert!(decode(&envelope("ConfigMap", &bytes(4, b"x"))).unwrap_err().contains("immutable"));
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_an_error(raw in prop::collection::vec(any::<u8>(), 0..60)) {
        drop(decode(&raw));
        drop(decode(&[MAGIC, &raw].concat()));
        drop(decode(&envelope("ConfigMap", &raw)));
        drop(decode(&envelope("Pod", &raw)));
    }
}
