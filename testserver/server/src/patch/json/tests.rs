//! Compares JSON patches with the `json-patch` crate.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::apply;
use crate::patch::PatchError;

fn run(target: Value, patch: Value) -> Result<Value, PatchError> {
    let mut target = target;
    apply(&mut target, &patch).map(|()| target)
}

/// Responses of `v1.37` to the same patches.
#[test]
fn as_the_genuine_server() {
    let object = || json!({"spec": {"title": "abc", "tags": ["a", "b"]}});
    let ok = |patch, want| assert_eq!(run(object(), patch).unwrap(), want);
    ok(json!([{"op":"test","path":"/spec/zz","value":null}]), object());
    ok(
        json!([{"op":"add","path":"/spec/tags/-","value":"c"}]),
        json!({"spec":{"title":"abc","tags":["a","b","c"]}}),
    );
    ok(json!([{"op":"remove","path":"/spec/tags/-1"}]), json!({"spec":{"title":"abc","tags":["a"]}}));
    ok(json!([{"op":"replace","path":"","value":{}}]), json!({}));
    ok(
        json!([{"op":"add","path":"/spec/tags/-1","value":"c"},{"op":"add","path":"/spec/tags/-4","value":"0"}]),
        json!({"spec":{"title":"abc","tags":["0","a","b","c"]}}),
    );
    ok(
        json!([{"op":"replace","path":"/spec/mode","value":"a"},{"op":"replace","path":"/spec/title"},{"op":"add","path":"/spec/x"}]),
        json!({"spec":{"title":null,"tags":["a","b"],"mode":"a","x":null}}),
    );
    ok(
        json!([{"op":"copy","from":"/spec/q","path":"/spec/i32"}]),
        json!({"spec":{"title":"abc","tags":["a","b"],"i32":null}}),
    );
    ok(
        json!([{"op":"add","path":"/spec/a~1b~01","value":1},{"op":"move","from":"/spec/title","path":"/t"}]),
        json!({"spec":{"tags":["a","b"],"a/b~1":1},"t":"abc"}),
    );

    for patch in [
        json!([{"op":"test","path":"/spec/title","value":"2"}]),
        json!([{"op":"replace","path":"/nope/mode","value":"a"}]),
        json!([{"op":"replace","path":"/spec/tags/2","value":"a"}]),
        json!([{"op":"replace","path":"/spec/tags/-","value":"a"}]),
        json!([{"op":"replace","path":"/spec/title/x","value":"a"}]),
        json!([{"op":"remove","path":"/spec/zz"}]),
        json!([{"op":"copy","from":"/nope/q","path":"/spec/i32"}]),
        json!([{"op":"copy","from":"/spec/tags/9","path":"/spec/i32"}]),
        json!([{"op":"move","from":"/spec/q","path":"/spec/i32"}]),
        json!([{"op":"add","path":"/spec/tags/-4","value":"n"}]),
        json!([{"op":"add","path":"","value":{}}]),
        json!([{"op":"remove","path":""}]),
        json!([{"op":"test","path":"/nope/x","value":null}]),
        json!([{"op":"frob","path":"/spec"}]),
        json!([{"path":"/spec"}]),
        json!([{"op":"add","value":1}]),
        json!([{"op":"add","path":"spec","value":1}]),
        json!([{"op":"move","path":"/spec/y"}]),
        json!([{"op":"add","path":"/spec/tags/5","value":"n"}]),
        json!([{"op":"add","path":"/nope/zz","value":"n"}]),
        json!([{"op":"test","path":"","value":{}}]),
    ] {
        let error = run(object(), patch.clone()).unwrap_err();
        assert!(matches!(error, PatchError::NotApplicable(_)), "{patch}: {error:?}");
        assert_eq!(error.to_string(), "the server rejected our request due to an error in our request");
    }

    for (patch, text) in [
        (
            json!({"op":"add"}),
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            json!([1]),
            "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
        (
            json!([{"op":"add","path":5}]),
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
        (
            json!([{"op":{},"path":"/spec"}]),
            "error decoding patch: json: cannot unmarshal object into Go struct field jsonPatchOp.op of type string",
        ),
    ] {
        assert_eq!(run(object(), patch).unwrap_err(), PatchError::Malformed(text.into()));
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
    /// Compares with an independent implementation where the genuine server follows the RFC.
    #[test]
    fn agrees_with_the_json_patch_crate(document in document(), ops in prop::collection::vec(operation(), 1..4)) {
        prop_assume!(ops.iter().all(|op| op["op"] != "remove" || op["path"] != ""));
        prop_assume!(ops.iter().all(|op| op["op"] != "move" || op["from"] != ""));
        prop_assume!(ops.iter().all(|op| op["path"] != "" || op["op"] == "replace" || op["op"] == "test"));
        let mut theirs = document.clone();
        let patch: json_patch::Patch = serde_json::from_value(json!(ops)).unwrap();
        // Without roll-back, which panics when a move cannot be undone.
        let want = json_patch::patch_unsafe(&mut theirs, &patch).is_ok().then_some(theirs);
        let ours = run(document, json!(ops)).ok();
        // Operations on a member that is not there succeed here.
        if want.is_some() || ops.iter().all(|op| !matches!(op["op"].as_str(), Some("replace" | "copy" | "test"))) {
            prop_assert_eq!(ours, want);
        }
    }
}
