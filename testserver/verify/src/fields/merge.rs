//! The JSON merge patch that makes one value of another.

use serde_json::{Map, Value};

/// What leads from one to the other: null for what is gone, lists as a whole (RFC 7386).
pub(crate) fn merge_patch(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else { return to.clone() };
    let mut patch = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in to {
        match from.get(key) {
            Some(before) if before == value => {}
            Some(before) => drop(patch.insert(key.clone(), merge_patch(before, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_gone_is_null_and_what_is_the_same_is_left_out() {
        let from = json!({"spec": {"a": 1, "b": {"c": 1, "d": 2}, "list": [1, 2]}, "kind": "Page"});
        let to = json!({"spec": {"b": {"d": 3}, "list": [1], "e": {}}, "kind": "Page"});
        let patch = json!({"spec": {"a": null, "b": {"c": null, "d": 3}, "list": [1], "e": {}}});
        assert_eq!(merge_patch(&from, &to), patch);
        assert_eq!(merge_patch(&json!({"a": {"b": 1}}), &json!({"a": {}})), json!({"a": {"b": null}}));
        assert_eq!(merge_patch(&from, &from), json!({}));
    }
}
