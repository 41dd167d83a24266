//! Whether an object already has what an apply patch would write, so that it need not be sent.
//!
//! A server-side apply sets fields, and removes those that the manager applied before and no longer does. So an object is up to date
//! if the manager owns exactly the fields of the patch, and all have the values of the patch. `metadata.managedFields` says what it
//! owns, as a tree with the shape of the object (KEP-555): `f:name` is a field, `k:{...}` an item of a list by its keys, `v:value` an
//! item of a set, and an empty node a value that is owned as a whole.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

/// What an apply patch would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Nothing: the manager owns exactly these fields, and they have these values.
    Unchanged,
    /// Something, or it cannot be known.
    MayDiffer,
}

/// Compares an object with an apply patch of `manager`. No I/O; O(size of the object).
///
/// `current` and `patch` are whole objects as JSON. Only fields of the patch and fields that the manager owns are compared. Without
/// the managed fields of the object, or if the server wrote a value in another form than the patch has it (`1000m` as `1`), the
/// result is [`Comparison::MayDiffer`]: the patch is then sent in vain, which does no harm.
pub(crate) fn compare(
    current: &Value,
    managed_fields: &[ManagedFieldsEntry],
    patch: &Value,
    manager: &str,
    subresource: Option<&str>,
) -> Comparison {
    let mine = |entry: &&ManagedFieldsEntry| {
        entry.manager.as_deref() == Some(manager)
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.as_deref().filter(|it| !it.is_empty()) == subresource
            && entry.api_version.as_deref() == patch["apiVersion"].as_str()
    };
    let owned = managed_fields.iter().find(mine).and_then(|entry| entry.fields_v1.as_ref());
    let Some(Value::Object(owned)) = owned.map(|fields| &fields.0) else { return Comparison::MayDiffer };
    let patch = without_identity(patch);
    match node_matches(owned, Some(current), &patch) {
        true => Comparison::Unchanged,
        false => Comparison::MayDiffer,
    }
}

/// The patch without the fields that identify the object: servers do not track their ownership.
fn without_identity(patch: &Value) -> Value {
    let mut patch = patch.clone();
    if let Some(fields) = patch.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            ["name", "namespace", "uid", "resourceVersion"]
                .iter()
                .for_each(|field| drop(metadata.remove(*field)));
            if metadata.is_empty() {
                fields.remove("metadata");
            }
        }
    }
    patch
}

/// Whether the fields below `owned` are those of `patch`, with its values in `current`.
fn node_matches(owned: &Map<String, Value>, current: Option<&Value>, patch: &Value) -> bool {
    let children: Vec<(&str, &Value)> =
        owned.iter().filter(|(key, _)| *key != ".").map(|(key, node)| (key.as_str(), node)).collect();
    if children.is_empty() {
        // Owned as a whole, or an empty map or list whose entries belong to others.
        return current == Some(patch) || (owned.contains_key(".") && is_empty(patch) && current.is_some());
    }
    match (current, patch) {
        (Some(Value::Object(current)), Value::Object(patch)) => fields_match(&children, current, patch),
        (Some(Value::Array(current)), Value::Array(patch)) => items_match(&children, current, patch),
        _ => false,
    }
}

fn fields_match(
    children: &[(&str, &Value)],
    current: &Map<String, Value>,
    patch: &Map<String, Value>,
) -> bool {
    // A null in a patch is the absence of the field.
    let applied = patch.values().filter(|value| !value.is_null()).count();
    applied == children.len()
        && children.iter().all(|(key, node)| {
            let Some(name) = key.strip_prefix("f:") else { return false };
            match (node, patch.get(name)) {
                (Value::Object(node), Some(applied)) if !applied.is_null() => {
                    node_matches(node, current.get(name), applied)
                }
                _ => false, // applied before, and to be removed now
            }
        })
}

/// Compares a list of items with keys, or a set. Both keep the order in which their manager applied them.
fn items_match(children: &[(&str, &Value)], current: &[Value], patch: &[Value]) -> bool {
    let mut places = Vec::with_capacity(patch.len());
    let mut used = vec![false; children.len()];
    for applied in patch {
        let matching = |(at, (key, _)): &(usize, &(&str, &Value))| !used[*at] && is_item(key, applied);
        let mut candidates = children.iter().enumerate().filter(matching);
        // More than one: the patch leaves a key to its default, and several items have the other keys.
        let (Some((at, (key, Value::Object(node)))), None) = (candidates.next(), candidates.next()) else {
            return false;
        };
        let Some(place) = current.iter().position(|item| is_item(key, item)) else { return false };
        used[at] = true;
        if !node_matches(node, Some(&current[place]), applied) {
            return false;
        }
        places.push(place);
    }
    used.iter().all(|used| *used) && places.is_sorted()
}

/// Whether a node such as `k:{"type":"Ready"}` or `v:"a"` is about this item. A key field that the item does not have may be a
/// default of the server.
pub(crate) fn is_item(node: &str, item: &Value) -> bool {
    if let Some(value) = node.strip_prefix("v:") {
        return serde_json::from_str::<Value>(value).is_ok_and(|value| value == *item);
    }
    let Some(keys) = node.strip_prefix("k:") else { return false };
    let Ok(Value::Object(keys)) = serde_json::from_str::<Value>(keys) else { return false };
    let has = |key: &str, value: &Value| item.get(key).is_none_or(|of_item| of_item == value);
    item.is_object()
        && keys.iter().any(|(key, _)| item.get(key).is_some())
        && keys.iter().all(|(key, value)| has(key, value))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
