//! Compares JSON patches with the `json-patch` crate.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::apply;
use crate::patch::PatchError;

fn run(target: Value, patch: Value) -> Result<Value, PatchError> {
    let mut target = target;
    apply(&mut target, &patch).map(|()| target)
}

/// Responses of the genuine server (1.37) to the same patches.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn as_the_genuine_server() {
    let object = || json!({"spec": {"title": "abc", "tags": ["a", "b"]}});
    let ok = |patch: Value, want| assert_eq!(run(object(), patch.clone()), Ok(want), "{patch}");
    let spec = |title: &str, more: Value| {
        let mut spec = json!({"title": title, "tags": ["a", "b"]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"spec": spec})
    };
    let tags = |tags: Value| json!({"spec": {"title": "abc", "tags": tags}});
    ok(json!([{"op":"test","path":"/spec/zz","value":null}]), object());
    ok(json!([{"op":"test","path":"/spec/zz"}]), object());
    ok(json!([{"op":"test","path":"","value":object()}]), object());
    ok(json!([{"op":"add","path":"/spec/tags/-","value":"c"}]), tags(json!(["a", "b", "c"])));
    ok(json!([{"op":"add","path":"/spec/tags/-1","value":"c"}]), tags(json!(["a", "b", "c"])));
    ok(json!([{"op":"add","path":"/spec/tags/01","value":"c"}]), tags(json!(["a", "c", "b"])));
    ok(json!([{"op":"remove","path":"/spec/tags/-1"}]), tags(json!(["a"])));
    ok(json!([{"op":"replace","path":"/spec/tags/-1","value":"c"}]), tags(json!(["a", "c"])));
    ok(json!([{"op":"replace","path":"","value":{}}]), json!({}));
    ok(json!([{"op":"replace","path":"/spec/mode","value":"a"}]), spec("abc", json!({"mode": "a"})));
    ok(json!([{"op":"add","path":"/spec/mode"}]), spec("abc", json!({"mode": null})));
    ok(json!([{"op":"replace","path":"/spec/title"}]), json!({"spec": {"title": null, "tags": ["a", "b"]}}));
    ok(json!([{"op":"copy","from":"/spec/q","path":"/spec/mode"}]), spec("abc", json!({"mode": null})));
    ok(json!([{"op":"copy","from":"/spec/tags/-1","path":"/spec/mode"}]), spec("abc", json!({"mode": "b"})));
    ok(json!([{"op":"move","from":"/spec/title","path":"/spec/title"}]), object());
    ok(json!([{"op":"replace","path":"x/spec/title","value":"y"}]), spec("y", json!({})));
    ok(json!([]), object());
    ok(json!(null), object());
    ok(
        json!([{"op":"add","path":"/spec/a~1b~01","value":1},{"op":"move","from":"/spec/title","path":"/t"}]),
        json!({"spec":{"tags":["a","b"],"a/b~1":1},"t":"abc"}),
    );

    for patch in [
        json!([{"op":"test","path":"/spec/title","value":"2"}]),
        json!([{"op":"test","path":"/spec/title"}]),
        json!([{"op":"test","path":"/spec/zz","value":"a"}]),
        json!([{"op":"test","path":"/nope/zz","value":null}]),
        json!([{"op":"test","path":"/spec/tags/7"}]),
        json!([{"op":"test","path":"","value":{}}]),
        json!([{"op":"replace","path":"/nope/zz","value":"a"}]),
        json!([{"op":"replace","path":"/spec/tags/2","value":"a"}]),
        json!([{"op":"replace","path":"/spec/tags/-","value":"a"}]),
        json!([{"op":"remove","path":"/spec/zz"}]),
        json!([{"op":"remove","path":"/nope/zz"}]),
        json!([{"op":"remove","path":"/spec/tags/-3"}]),
        json!([{"op":"remove","path":"/spec/tags/-"}]),
        json!([{"op":"remove","path":""}]),
        json!([{"op":"copy","from":"/nope/q","path":"/spec/i32"}]),
        json!([{"op":"copy","from":"/spec/tags/7","path":"/spec/i32"}]),
        json!([{"op":"copy","from":"","path":"/spec/i32"}]),
        json!([{"op":"copy","from":"/spec/title","path":""}]),
        json!([{"op":"move","from":"/spec/q","path":"/spec/i32"}]),
        json!([{"op":"move","from":"/spec","path":"/spec/x"}]),
        json!([{"op":"move","path":"/spec/title"}]),
        json!([{"op":"add","path":"/spec/tags/5","value":"n"}]),
        json!([{"op":"add","path":"/spec/tags/x","value":"n"}]),
        json!([{"op":"add","path":"/nope/zz","value":"n"}]),
        json!([{"op":"add","path":"/spec/title/zz","value":"n"}]),
        json!([{"op":"add","path":"","value":{}}]),
        json!([{"op":"add","path":"spec","value":{}}]),
        json!([{"op":"add","value":"n"}]),
        json!([{"path":"/spec/title","value":"n"}]),
        json!([{"op":"frob","path":"/spec"}]),
        json!([null]),
    ] {
        let error = run(object(), patch.clone()).unwrap_err();
        assert!(matches!(error, PatchError::NotApplicable(_)), "{patch}: {error:?}");
        assert_eq!(error.to_string(), "the server rejected our request due to an error in our request");
    }

    for (patch, text) in [
        (json!({"op":"add"}), "object into Go value of type []handlers.jsonPatchOp"),
        (json!([1]), "number into Go value of type handlers.jsonPatchOp"),
        (json!([{"op":1,"path":"/spec"}]), "number into Go struct field jsonPatchOp.op of type string"),
        (json!([{"op":"add","path":7}]), "number into Go struct field jsonPatchOp.path of type string"),
    ] {
        let message = format!("error decoding patch: json: cannot unmarshal {text}");
        assert_eq!(run(object(), patch).unwrap_err(), PatchError::Malformed(message));
    }
}

fn document() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(json!(null)), any::<bool>().prop_map(Value::from), (0..4i64).prop_map(Value::from)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..3).prop_map(|m| json!(m)),
        ]
    })
}

fn operation() -> impl Strategy<Value = Value> {
    let path = || {
        prop::collection::vec(prop_oneof!["[ab]", "[012]", Just("-".to_owned())], 0..3)
            .prop_map(|t| t.iter().map(|t| format!("/{t}")).collect::<String>())
    };
    let op =
        prop_oneof![Just("add"), Just("remove"), Just("replace"), Just("move"), Just("copy"), Just("test")];
    (op, path(), path(), 0..4i64)
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
}

proptest! {
    /// What the RFC permits has the result of an independent implementation. Genuine servers permit more, but change the whole document
    /// only by `replace`.
    #[test]
    fn agrees_with_the_json_patch_crate(document in document(), ops in prop::collection::vec(operation(), 1..4)) {
        let whole = |op: &Value| op["path"] == "" || op["from"] == "";
        prop_assume!(ops.iter().all(|op| matches!(op["op"].as_str(), Some("replace" | "test")) || !whole(op)));
        let mut theirs = document.clone();
        let patch: json_patch::Patch = serde_json::from_value(json!(ops)).unwrap();
        // Without roll-back, which panics when a move cannot be undone.
        if json_patch::patch_unsafe(&mut theirs, &patch).is_ok() {
            prop_assert_eq!(run(document, json!(ops)), Ok(theirs));
        }
    }
}
