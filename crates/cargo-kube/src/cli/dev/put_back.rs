//! What an object is once a session's changes are taken back, and others' stay, and who owns its fields then. Pure.

use serde_json::{Map, Value, json};

/// The object `now` with the fields of `before` where the session has `written` others. Fields that are no longer as it has written them
/// stay, and are returned. Lists of objects with names are compared by name, others whole.
pub(super) fn put_back(now: Value, written: &Value, before: &Value) -> (Value, Vec<String>) {
    let mut changed_by_others = Vec::new();
    let object = match now {
        Value::Object(fields) => {
            Value::Object(fields_back(fields, written, before, "", &mut changed_by_others))
        }
        other => other,
    };
    (object, changed_by_others)
}

fn fields_back(
    mut now: Map<String, Value>,
    written: &Value,
    before: &Value,
    path: &str,
    changed_by_others: &mut Vec<String>,
) -> Map<String, Value> {
    let keys = [written, before].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
    for key in keys {
        let (written, before) = (written.get(key), before.get(key));
        if written == before || now.get(key) == before {
            continue;
        }
        if now.get(key) == written {
            match before {
                Some(before) => drop(now.insert(key.clone(), before.clone())),
                None => drop(now.remove(key)),
            }
            continue;
        }
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (now.get_mut(key), written, before) {
            (
                Some(Value::Object(fields)),
                Some(written @ Value::Object(_)),
                Some(before @ Value::Object(_)),
            ) => {
                *fields = fields_back(std::mem::take(fields), written, before, &path, changed_by_others);
            }
            (Some(Value::Array(list)), Some(written), Some(before))
                if have_names([list, items(written), items(before)]) =>
            {
                let order: Vec<_> = list.iter().map(name).collect();
                let [written, before] = [written, before].map(|list| Value::Object(by_name(items(list))));
                let mut back = fields_back(by_name(list), &written, &before, &path, changed_by_others);
                *list = order.iter().filter_map(|name| back.remove(name)).collect();
                list.extend(back.into_iter().map(|(_, item)| item));
            }
            _ if changed_by_others.contains(&path) => {}
            _ => changed_by_others.push(path),
        }
    }
    now
}

/// Whether each item of these lists has a name of its own.
fn have_names(lists: [&[Value]; 3]) -> bool {
    lists.iter().all(|list| {
        list.iter().all(|item| item["name"].is_string())
            && !list.is_empty()
            && by_name(list).len() == list.len()
    })
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn name(item: &Value) -> String {
    item["name"].as_str().unwrap_or_default().to_owned()
}

fn by_name(list: &[Value]) -> Map<String, Value> {
    list.iter().map(|item| (name(item), item.clone())).collect()
}

/// The `managedFields` of an object that is put back: those of `before`, and what others than the session have got since.
pub(super) fn owners(before: &[Value], now: Vec<Value>, session: &str) -> Vec<Value> {
    let is_same = |one: &Value, other: &Value| {
        ["manager", "operation", "apiVersion", "subresource"].iter().all(|key| one[key] == other[key])
    };
    let mut owners = before.to_vec();
    for entry in now {
        match owners.iter_mut().find(|owner| is_same(owner, &entry)) {
            Some(owner) => add_fields(&mut owner["fieldsV1"], entry["fieldsV1"].clone()),
            None if entry["manager"] == session => {}
            None => owners.push(entry),
        }
    }
    if owners.is_empty() {
        owners.push(json!({})); // an empty list would mean those of now
    }
    owners
}

/// Of two sets of fields, all.
fn add_fields(to: &mut Value, fields: Value) {
    match (to, fields) {
        (Value::Object(to), Value::Object(fields)) => {
            for (key, value) in fields {
                add_fields(to.entry(key).or_insert_with(|| json!({})), value);
            }
        }
        (to @ Value::Null, fields) => *to = fields,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sessions_changes_are_taken_back_and_those_of_others_stay() {
        let before = json!({ "spec": { "selector": { "app": "op" }, "ports": [443], "type": "ClusterIP" } });
        let written = json!({ "spec": { "ports": [443], "type": "NodePort", "new": 1 } });
        assert_eq!(put_back(written.clone(), &written, &before), (before.clone(), Vec::new()));

        let now = json!({ "metadata": { "labels": { "by": "others" } }, "spec": { "ports": [443, 80], "type": "LoadBalancer" } });
        let (object, changed) = put_back(now, &written, &before);
        let expected = json!({ "metadata": { "labels": { "by": "others" } },
            "spec": { "selector": { "app": "op" }, "ports": [443, 80], "type": "LoadBalancer" } });
        assert_eq!((object, changed), (expected, vec!["spec.type".to_owned()]));
    }

    #[test]
    fn items_with_names_are_put_back_field_by_field() {
        let webhooks = |policy: &str, config: Value| json!({ "webhooks": [{ "name": "a", "failurePolicy": policy, "clientConfig": config }, { "name": "b" }] });
        let before = webhooks("Fail", json!({ "service": "op" }));
        let written = webhooks("Ignore", json!({ "service": "op" }));
        // The operator of the session has injected its CA.
        let now = webhooks("Ignore", json!({ "service": "op", "caBundle": "x" }));
        let expected = webhooks("Fail", json!({ "service": "op", "caBundle": "x" }));
        assert_eq!(put_back(now, &written, &before), (expected, Vec::new()));
    }

    #[test]
    fn what_somebody_has_put_back_already_is_no_change() {
        let (before, written) = (json!({ "rules": ["a", "b"] }), json!({ "rules": ["a"] }));
        assert_eq!(put_back(before.clone(), &written, &before), (before.clone(), Vec::new()));
        let newer = json!({ "rules": ["a", "c"] });
        assert_eq!(put_back(newer.clone(), &written, &before), (newer, vec!["rules".to_owned()]));
    }

    #[test]
    fn fields_belong_to_whom_they_belonged_before_and_to_who_has_written_since() {
        let entry = |manager: &str, operation: &str, fields: Value| json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields });
        let before = [entry("kubectl", "Apply", json!({ "f:spec": { "f:a": {}, "f:b": {} } }))];
        let now = vec![
            entry("kubectl", "Apply", json!({ "f:spec": { "f:b": {}, "f:c": {} } })),
            entry("dev", "Apply", json!({ "f:spec": { "f:a": {} } })),
            entry("dev", "Update", json!({ "f:spec": { "f:a": {} } })),
            entry("others", "Update", json!({ "f:data": {} })),
        ];
        let expected = [
            entry("kubectl", "Apply", json!({ "f:spec": { "f:a": {}, "f:b": {}, "f:c": {} } })),
            entry("others", "Update", json!({ "f:data": {} })),
        ];
        assert_eq!(owners(&before, now, "dev"), expected);
        assert_eq!(owners(&[], vec![entry("dev", "Update", json!({}))], "dev"), [json!({})], "it had none");
    }
}
