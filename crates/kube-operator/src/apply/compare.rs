//! Whether an object already has what an apply patch would write, so that it need not be sent.
//!
//! A server-side apply sets fields, and removes those that the manager applied before and no longer does. So an object is up to date
//! if the manager owns exactly the fields of the patch, and all have the values of the patch. `metadata.managedFields` says what it
//! owns: see [`kube_core::apply::managed_fields`].

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube_core::apply::managed_fields::{PathElement, is_entry_of, tree_of};
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
        is_entry_of(entry, manager, "Apply", subresource)
            && entry.api_version.as_deref() == patch["apiVersion"].as_str()
    };
    let Some(owned) = managed_fields.iter().find(mine).and_then(tree_of) else {
        return Comparison::MayDiffer;
    };
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
            let Some(PathElement::Field(name)) = PathElement::parse(key) else { return false };
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
    let named = children.iter().map(|(key, node)| Some((PathElement::parse(key)?, *node)));
    let Some(children) = named.collect::<Option<Vec<(PathElement<'_>, &Value)>>>() else { return false };
    for applied in patch {
        let matching =
            |(at, (name, _)): &(usize, &(PathElement<'_>, &Value))| !used[*at] && name.may_name(applied);
        let mut candidates = children.iter().enumerate().filter(matching);
        // More than one: the patch leaves a key to its default, and several items have the other keys.
        let (Some((at, (name, Value::Object(node)))), None) = (candidates.next(), candidates.next()) else {
            return false;
        };
        let Some(place) = current.iter().position(|item| name.may_name(item)) else { return false };
        used[at] = true;
        if !node_matches(node, Some(&current[place]), applied) {
            return false;
        }
        places.push(place);
    }
    used.iter().all(|used| *used) && places.is_sorted()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
