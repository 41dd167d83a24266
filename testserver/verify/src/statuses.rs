//! What the operator has of the status of an object: the fields of its managers and, of lists that are owned as a whole, the items that
//! it has written itself. The rest nobody restores.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{state::ObjectName, trace::StatusWrite};

/// The object without what the operator has of its status by these writes; `None` if that is nothing.
pub(crate) fn without_status<'w>(
    name: &ObjectName,
    object: &Value,
    writes: impl Iterator<Item = &'w StatusWrite>,
) -> Option<Value> {
    object["status"].as_object()?;
    let own = Own { writes: writes.filter(|write| write.object == *name).collect() };
    let managers: BTreeSet<&str> = own.writes.iter().map(|write| write.manager.as_str()).collect();
    let mut after = object.clone();
    for entry in object["metadata"]["managedFields"].as_array()? {
        let fields = &entry["fieldsV1"]["f:status"];
        let is_own = entry["manager"].as_str().is_some_and(|manager| managers.contains(manager));
        own.remove(&mut after["status"], fields, Some("/"), is_own);
    }
    if is_empty(&after["status"]) {
        after.as_object_mut()?.remove("status");
    }
    (after != *object).then_some(after)
}

/// What the operator has written.
struct Own<'w> {
    writes: Vec<&'w StatusWrite>,
}

impl Own<'_> {
    /// Removes these fields of a manager, and what is empty without them. `at` is the path of the value in the status, with a slash at its
    /// end; `None` in an item of a list. Of what another manager has: the items that the operator has written, as a list that is owned as a
    /// whole is that of its last writer.
    fn remove(&self, value: &mut Value, fields: &Value, at: Option<&str>, is_own: bool) {
        for (name, inner) in fields.as_object().into_iter().flatten() {
            let is_whole = inner.as_object().is_none_or(|inner| inner.is_empty());
            match (name.split_once(':'), &mut *value) {
                (Some(("f", key)), Value::Object(members)) => {
                    let Some(member) = members.get_mut(key).filter(|member| is_own || !is_empty(member))
                    else {
                        continue;
                    };
                    let at = at.map(|at| format!("{at}{}", key.replace('~', "~0").replace('/', "~1")));
                    match (member.as_array_mut(), &at) {
                        (Some(items), Some(at)) if is_whole => {
                            items.retain(|item| !self.has_written(at, item));
                        }
                        _ if is_whole && is_own => *member = Value::Null,
                        _ => self.remove(member, inner, at.map(|at| at + "/").as_deref(), is_own),
                    }
                    if is_empty(member) {
                        members.remove(key);
                    }
                }
                (Some(("k", names)), Value::Array(items)) if is_own && !inner["."].is_null() => {
                    let names: Value = serde_json::from_str(names).unwrap_or_default();
                    let is_meant = |item: &Value| {
                        names.as_object().is_some_and(|names| names.iter().all(|(key, of)| item[key] == *of))
                    };
                    items.retain(|item| !is_meant(item));
                }
                (Some(("v", text)), Value::Array(items)) if is_own => {
                    items.retain(|item| serde_json::from_str::<Value>(text).ok().as_ref() != Some(item));
                }
                _ => {}
            }
        }
    }

    /// Whether an item was in no list at this place before a write of the operator, and was there after it.
    fn has_written(&self, at: &str, item: &Value) -> bool {
        let has = |status: &Value| {
            status.pointer(at).and_then(Value::as_array).is_some_and(|items| items.contains(item))
        };
        self.writes.iter().any(|write| has(&write.after) && !has(&write.before))
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn without(object: &Value, manager: &str, statuses: [Value; 2]) -> Option<Value> {
        let [before, after] = statuses;
        let name = ObjectName::of("pages.example.com", object);
        let write = StatusWrite { object: name.clone(), manager: manager.to_owned(), step: 1, before, after };
        without_status(&name, object, [&write].into_iter())
    }

    #[test]
    fn what_an_operator_has_of_a_status_is_removed() {
        let item = r#"k:{"type":"Ready"}"#;
        let fields = json!({"f:ready": {}, "f:deep": {"f:a": {}}, "f:more": {"f:a": {}}, "f:whole": {},
            "f:conditions": {".": {}, item: {".": {}, "f:type": {}}}, "f:names": {"v:\"a\"": {}}, "f:gone": {}});
        let entry = json!({"manager": "pages", "subresource": "status", "fieldsV1": {"f:status": fields}});
        let mut object = json!({"metadata": {"name": "a", "managedFields": [entry]}, "status": {"ready": true, "seen": "yes",
            "deep": {"a": 1}, "more": {"a": 1, "b": 2}, "names": ["a", "b"], "whole": {"a": 1},
            "conditions": [{"type": "Ready"}, {"type": "Seen"}]}});
        let left = json!({"seen": "yes", "more": {"b": 2}, "names": ["b"], "conditions": [{"type": "Seen"}]});
        let without = |object: &Value, manager| without(object, manager, [Value::Null, Value::Null]);
        assert_eq!(without(&object, "pages").unwrap()["status"], left);
        object["status"] = json!({"ready": true});
        assert_eq!(without(&object, "pages").unwrap().get("status"), None);
        assert_eq!(without(&object, "others"), None, "another program has it");
        object.as_object_mut().unwrap().remove("status");
        assert_eq!(without(&object, "pages"), None);
    }

    #[test]
    fn of_a_list_that_is_owned_as_a_whole_items_of_others_stay() {
        let fields = json!({"f:deep": {"f:conditions/a": {}}});
        let entry = json!({"manager": "pages", "subresource": "status", "fieldsV1": {"f:status": fields}});
        let status = |items: &[&str]| json!({"deep": {"conditions/a": items}});
        let object = json!({"metadata": {"name": "a", "managedFields": [entry]}, "status": status(&["theirs", "ours"])});
        let both = [status(&["theirs"]), status(&["theirs", "ours"])];
        assert_eq!(without(&object, "pages", both).unwrap()["status"], status(&["theirs"]));
        let mut by_another = object.clone();
        by_another["metadata"]["managedFields"][0]["manager"] = json!("others");
        let both_too = [status(&["theirs"]), status(&["theirs", "ours"])];
        assert_eq!(without(&by_another, "pages", both_too).unwrap()["status"], status(&["theirs"]));
        let alone = [Value::Null, status(&["theirs", "ours"])];
        assert_eq!(without(&object, "pages", alone).unwrap().get("status"), None);
        let unchanged = [status(&["theirs", "ours"]), status(&["theirs", "ours"])];
        assert_eq!(without(&object, "pages", unchanged), None);
    }
}
