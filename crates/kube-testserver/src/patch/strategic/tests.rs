//! Compares with recorded results of a genuine server (see `../recorded/record.py`).

use serde::Deserialize;
use serde_json::{Value, json};

use super::apply;
use crate::patch::PatchError;
use crate::schema::types;

#[derive(Deserialize)]
struct Case {
    patch: Value,
    code: u16,
    object: Option<Value>,
    message: Option<String>,
}

#[test]
fn as_the_genuine_server() {
    let schema = types::by_name("io.k8s.api.apps.v1.Deployment").unwrap();
    let mut lines = include_str!("../recorded/strategic.jsonl").lines();
    let base: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let mut seen = 0;
    for line in lines {
        let case: Case = serde_json::from_str(line).unwrap();
        let at = case.patch.to_string();
        let mut got = base["base"].clone();
        let outcome = apply(&schema, &mut got, &case.patch);
        match (outcome, case.code) {
            (Ok(()), 200) => {
                assert_eq!(finished(&schema, got), finished(&schema, case.object.unwrap()), "{at}");
            }
            (Err(PatchError::Failed(text)), 500) => {
                let want = case.message.unwrap();
                // The genuine message lists all element types; Go prints wrong types differently.
                let start = text.split(": [").next().unwrap();
                assert!(want.starts_with(start) || want.contains("%!s"), "{at}: {text:?}, {want:?}");
            }
            (Err(PatchError::Malformed(text)), 400) => assert_eq!(Some(text), case.message, "{at}"),
            // Types are checked later, when the result is decoded or validated.
            (Ok(()), 422) => {}
            (Err(PatchError::Invalid { patch, message }), 422) => {
                let text = format!(" \"\" is invalid: patch: Invalid value: {patch:?}: {message}");
                assert_eq!(Some(text), case.message, "{at}");
            }
            // A missing name is refused later.
            (Ok(()), 400) if case.patch["$patch"] == "delete" => assert_eq!(got, json!({})),
            (outcome, code) => {
                panic!("{at}: {outcome:?}, the genuine server says {code}: {:?}", case.message)
            }
        }
        seen += 1;
    }
    assert!(seen > 70);
}

/// The object after decoding and defaulting. The recorded server (1.20) converts a new null to an empty value; newer ones, and this one, drop it.
fn finished(schema: &crate::schema::Schema, mut object: Value) -> Value {
    schema.prune(&mut object);
    schema.default(&mut object);
    for (pointer, name, empty) in [
        ("/spec/template/metadata/annotations", "gone", ""),
        ("/spec/template/spec/containers/0/resources/limits", "memory", "0"),
    ] {
        if let Some(Value::Object(map)) = object.pointer_mut(pointer)
            && map.get(name) == Some(&json!(empty))
        {
            map.remove(name);
        }
    }
    for pointer in ["/metadata/labels", "/metadata/annotations"] {
        if object.pointer(pointer) == Some(&json!({})) {
            object["metadata"].as_object_mut().unwrap().remove(pointer.rsplit('/').next().unwrap());
        }
    }
    object
}
