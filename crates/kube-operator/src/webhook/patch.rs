//! The JSON patch of a mutation. Pure.

use serde_json::Value;

/// The patch of `received` that makes the change from `before` to `after`.
///
/// `before` and `after` are the encoded object around the handler. They may lack fields of `received` that the type does not have,
/// and contain defaults that `received` does not: neither is a change.
pub(super) fn changes(received: &Value, before: &Value, after: &Value) -> json_patch::Patch {
    json_patch::diff(received, &merged(Some(received), Some(before), after))
}

/// `received` with the change from `before` to `after`.
fn merged(received: Option<&Value>, before: Option<&Value>, after: &Value) -> Value {
    match (received, before) {
        (Some(received), Some(before)) if before == after => received.clone(),
        (Some(Value::Object(received)), Some(Value::Object(before))) if after.is_object() => {
            let mut result = received.clone();
            result.retain(|key, _| after.get(key).is_some() || !before.contains_key(key));
            for (key, after) in after.as_object().into_iter().flatten() {
                let (received, before) = (received.get(key), before.get(key));
                // A default that the type adds, which the handler left unchanged.
                if before != Some(after) {
                    result.insert(key.clone(), merged(received, before, after));
                }
            }
            Value::Object(result)
        }
        (Some(Value::Array(received)), Some(Value::Array(before))) if received.len() == before.len() => {
            let Some(items) = after.as_array() else { return after.clone() };
            let merged_item = |(at, after): (usize, &Value)| match origin(before, items, at) {
                Some(origin) => merged(received.get(origin), before.get(origin), after),
                None => after.clone(),
            };
            Value::Array(items.iter().enumerate().map(merged_item).collect())
        }
        _ => after.clone(),
    }
}

/// The index in `before` of the item that became the one at `at`: unchanged, of the same name, or at the same place in a list of the same
/// length without names.
fn origin(before: &[Value], after: &[Value], at: usize) -> Option<usize> {
    let item = after.get(at)?;
    if before.get(at) == Some(item) {
        return Some(at);
    }
    if let Some(name) = item.get("name") {
        return before.iter().position(|before| before.get("name") == Some(name));
    }
    let unchanged = before.iter().position(|before| before == item);
    unchanged.or((before.len() == after.len()).then_some(at))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::changes;

    fn applied(mut received: Value, before: &Value, after: &Value) -> Value {
        let patch = changes(&received, before, after);
        json_patch::patch(&mut received, &patch).unwrap();
        received
    }

    #[test]
    fn no_change_is_no_patch_whatever_the_type_knows() {
        let received = json!({"spec": {"a": 1, "unknown": {"x": [1]}}, "null": null});
        let encoded = json!({"spec": {"a": 1, "default": 5}});
        assert!(changes(&received, &encoded, &encoded).is_empty());
    }

    #[test]
    fn unknown_fields_stay_and_defaults_of_the_type_are_no_change() {
        let received = json!({"spec": {"a": 1, "unknown": true}, "status": {"u": 1}});
        let before = json!({"spec": {"a": 1, "size": 1}, "status": {}});
        let after = json!({"spec": {"a": 2, "size": 1, "title": "t"}, "status": {}});
        let expected = json!({"spec": {"a": 2, "unknown": true, "title": "t"}, "status": {"u": 1}});
        assert_eq!(applied(received.clone(), &before, &after), expected);
        let after = json!({"spec": {"a": 1, "size": 7}, "status": {}});
        let expected = json!({"spec": {"a": 1, "size": 7, "unknown": true}, "status": {"u": 1}});
        assert_eq!(applied(received, &before, &after), expected, "a changed default is added");
    }

    #[test]
    fn removed_fields_are_removed() {
        let before = json!({"spec": {"a": 1, "b": {"c": 1}}});
        assert_eq!(applied(before.clone(), &before, &json!({"spec": {"a": 1}})), json!({"spec": {"a": 1}}));
        let received = json!({"spec": {}});
        let before = json!({"spec": {"default": 1}});
        assert_eq!(applied(received.clone(), &before, &json!({"spec": {}})), received);
        assert_eq!(
            applied(json!({"a": {"b": 1}}), &json!({"a": {"b": 1}}), &json!({"a": 5})),
            json!({"a": 5})
        );
    }

    #[test]
    fn items_of_lists_keep_their_unknown_fields() {
        let received = json!([{"name": "a", "u": 1}, {"name": "b", "u": 2}]);
        let before = json!([{"name": "a"}, {"name": "b"}]);
        let after = json!([{"name": "sidecar"}, {"name": "b", "image": "x"}, {"name": "a"}]);
        let expected =
            json!([{"name": "sidecar"}, {"name": "b", "u": 2, "image": "x"}, {"name": "a", "u": 1}]);
        assert_eq!(applied(received.clone(), &before, &after), expected);
        assert_eq!(applied(received, &before, &json!([{"name": "b"}])), json!([{"name": "b", "u": 2}]));

        let unnamed = json!([{"port": 1, "u": 1}, {"port": 2, "u": 2}]);
        let before = json!([{"port": 1}, {"port": 2}]);
        let expected = json!([{"port": 1, "u": 1}, {"port": 3, "u": 2}]);
        assert_eq!(applied(unnamed.clone(), &before, &json!([{"port": 1}, {"port": 3}])), expected);
        assert_eq!(applied(unnamed, &before, &json!([{"port": 2}])), json!([{"port": 2, "u": 2}]));
    }

    #[test]
    fn names_with_slashes_and_tildes_are_escaped() {
        let received = json!({"metadata": {"labels": {"a/b": "1", "c~d": "2"}}});
        let after = json!({"metadata": {"labels": {"a/b": "3", "e/~f": "4"}}});
        assert_eq!(applied(received.clone(), &received, &after), after);
    }
}
