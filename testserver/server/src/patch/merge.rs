//! JSON merge patch (RFC 7386).

use serde_json::{Map, Value};

use super::PatchError;
use crate::schema::golang;

/// Merges `patch` into `target`: `null` removes a member, objects merge, everything else replaces.
///
/// The patch must be an object, because the target of a request is one.
pub(crate) fn apply(target: &mut Value, patch: &Value) -> Result<(), PatchError> {
    match patch {
        Value::Object(_) => {
            merge(target, patch);
            Ok(())
        }
        Value::Null => Err(PatchError::Malformed("Invalid JSON Patch".into())),
        other => Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            golang::json_type(other)
        ))),
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.as_str()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The table of RFC 7386, appendix A, as far as both documents are objects.
    #[test]
    fn rfc_7386_examples() {
        for (target, patch, want) in [
            (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
            (json!({"a":"b"}), json!({"a":null}), json!({})),
            (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
            (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
            (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
            (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
            (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
            (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
        ] {
            let mut got = target.clone();
            apply(&mut got, &patch).unwrap();
            assert_eq!(got, want, "{target} + {patch}");
        }
    }

    #[test]
    fn only_objects_are_patches() {
        let texts =
            [json!([]), json!("a"), json!(null)].map(|p| apply(&mut json!({}), &p).unwrap_err().to_string());
        assert_eq!(
            texts,
            [
                "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
                "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
                "Invalid JSON Patch",
            ]
        );
    }
}
