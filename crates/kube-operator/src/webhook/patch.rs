//! The JSON patch of a mutation. Pure.

use std::fmt;

use kube_core::apply::managed_fields::Owned;
use serde_json::{Map, Value};

use super::{list_items::origins, list_keys::ItemKeys};

/// The change of the handler cannot be made without moving or losing fields that its type does not have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnsafeChange {
    /// Where the list is, such as `spec.ports`.
    path: String,
    /// The fields of one of its items, such as `[1].appProtocol`.
    unknown: Vec<String>,
}

impl fmt::Display for UnsafeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, unknown } = self;
        let unknown = unknown.join(", ");
        write!(
            f,
            "the webhook cannot change {path}: its type lacks the fields {unknown}, and it is not certain which of the changed items they \
             belong to. Add the fields to the type of the webhook, keep the keys of the items, or use DynamicObject"
        )
    }
}

impl UnsafeChange {
    fn of(path: &str, unknown: Vec<String>) -> Self {
        Self { path: path.trim_start_matches('.').to_owned(), unknown }
    }
}

/// The patch of `received` that makes the change from `before` to `after`.
///
/// `before` and `after` are the encoded object around the handler. They may lack fields of `received` that the type does not have,
/// and contain defaults that `received` does not: neither is a change.
///
/// # Errors
/// If the change could give a field that the type does not have to another item of a list, or lose it.
pub(super) fn changes(
    received: &Value,
    before: &Value,
    after: &Value,
) -> Result<json_patch::Patch, UnsafeChange> {
    let merged =
        merged(received, before, after, &Place { path: String::new(), owned: Owned::of_json(received) })?;
    Ok(json_patch::diff(received, &merged))
}

/// Where in the object a value is.
struct Place<'a> {
    path: String,
    owned: Owned<'a>,
}

impl Place<'_> {
    fn field(&self, name: &str) -> Self {
        Self { path: format!("{}.{name}", self.path), owned: self.owned.field(name) }
    }

    fn item(&self, at: usize, item: &Value) -> Self {
        Self { path: format!("{}[{at}]", self.path), owned: self.owned.item(item) }
    }
}

/// `received` with the change from `before` to `after`.
fn merged(received: &Value, before: &Value, after: &Value, place: &Place<'_>) -> Result<Value, UnsafeChange> {
    match (received, before, after) {
        _ if before == after => Ok(received.clone()),
        (Value::Object(received), Value::Object(before), Value::Object(after)) => {
            merged_fields(received, before, after, place).map(Value::Object)
        }
        // The type leaves it out where it is empty.
        (Value::Object(received), Value::Null, Value::Object(after)) => {
            merged_fields(received, &Map::new(), after, place).map(Value::Object)
        }
        (Value::Array(received), Value::Array(before), Value::Array(after)) => {
            merged_items(received, before, after, place).map(Value::Array)
        }
        (Value::Array(received), Value::Null, Value::Array(after)) => {
            merged_items(received, &[], after, place).map(Value::Array)
        }
        // The type has another form of the value, which may hide fields.
        (Value::Object(_) | Value::Array(_), before, after)
            if std::mem::discriminant(before) == std::mem::discriminant(after) =>
        {
            match unknown_fields(received, before) {
                unknown if unknown.is_empty() => Ok(after.clone()),
                unknown => Err(UnsafeChange::of(&place.path, unknown)),
            }
        }
        _ => Ok(after.clone()),
    }
}

fn merged_fields(
    received: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    place: &Place<'_>,
) -> Result<Map<String, Value>, UnsafeChange> {
    let mut result = received.clone();
    result.retain(|key, _| after.contains_key(key) || !before.contains_key(key));
    for (key, after) in after {
        let before = before.get(key).unwrap_or(&Value::Null);
        let value = match received.get(key) {
            Some(received) => merged(received, before, after, &place.field(key))?,
            // A default that the type adds, which the handler left unchanged.
            None if before == after => continue,
            None => after.clone(),
        };
        result.insert(key.clone(), value);
    }
    Ok(result)
}

fn merged_items(
    received: &[Value],
    before: &[Value],
    after: &[Value],
    place: &Place<'_>,
) -> Result<Vec<Value>, UnsafeChange> {
    let keys = ItemKeys::of(&place.owned, before, after);
    if received.len() != before.len() || !is_same_order(received, before, &keys) {
        return match unknown_anywhere(received, before) {
            unknown if unknown.is_empty() => Ok(after.to_vec()),
            unknown => Err(UnsafeChange::of(&place.path, unknown)),
        };
    }
    let origins = origins(before, after, &keys, |a, b| received[a] == received[b]);
    if origins.contains(&None) {
        let mut kept = vec![false; before.len()];
        origins.iter().flatten().for_each(|origin| kept[*origin] = true);
        for at in (0..before.len()).filter(|at| !kept[*at]) {
            let unknown = unknown_fields(&received[at], &before[at]);
            if !unknown.is_empty() {
                let unknown = unknown.into_iter().map(|field| format!("[{at}]{field}")).collect();
                return Err(UnsafeChange::of(&place.path, unknown));
            }
        }
    }
    let merged_item = |(origin, after): (Option<usize>, &Value)| match origin {
        Some(at) => merged(&received[at], &before[at], after, &place.item(at, &received[at])),
        None => Ok(after.clone()),
    };
    origins.into_iter().zip(after).map(merged_item).collect()
}

/// Whether the type has kept the order of the items: a sorted set has not.
fn is_same_order(received: &[Value], before: &[Value], keys: &ItemKeys) -> bool {
    let agrees = |received: &Value, before: &Value| match keys.in_item(received) {
        Some(key) => keys.in_item(before) == Some(key),
        None => agree(before, received),
    };
    let others =
        |at: usize| received.iter().enumerate().filter(move |(other, _)| *other != at).take(MAX_COMPARED);
    // A value may have another form in the type, such as a time: then it agrees with no other item either.
    (0..received.len()).all(|at| {
        agrees(&received[at], &before[at]) || !others(at).any(|(_, received)| agrees(received, &before[at]))
    })
}

/// An item that agrees with none at its place is compared with the first ones.
const MAX_COMPARED: usize = 100;

/// Whether every plain value that both have is the same.
fn agree(before: &Value, received: &Value) -> bool {
    match (before, received) {
        (Value::Object(before), Value::Object(received)) => {
            let same = |(key, before): (&String, &Value)| {
                received.get(key).is_none_or(|received| agree(before, received))
            };
            before.iter().all(same)
        }
        (Value::Array(before), Value::Array(received)) => {
            before.iter().zip(received).all(|(before, received)| agree(before, received))
        }
        (before, received) => before == received,
    }
}

/// The first fields of `received` that are not in `before`, as `.spec.a`.
fn unknown_fields(received: &Value, before: &Value) -> Vec<String> {
    let below = |at: String, received: &Value, before: Option<&Value>| {
        let fields = match before {
            Some(before) => unknown_fields(received, before),
            None if received.is_null() => Vec::new(),
            None => vec![String::new()],
        };
        fields.into_iter().map(move |field| format!("{at}{field}"))
    };
    match received {
        Value::Object(received) => {
            let fields =
                received.iter().flat_map(|(key, value)| below(format!(".{key}"), value, before.get(key)));
            fields.take(MAX_NAMED).collect()
        }
        Value::Array(items) if before.as_array().is_some_and(|before| before.len() == items.len()) => {
            let fields = items.iter().enumerate();
            let fields = fields.flat_map(|(at, value)| below(format!("[{at}]"), value, before.get(at)));
            fields.take(MAX_NAMED).collect()
        }
        Value::Array(items) => unknown_anywhere(items, before.as_array().map_or(&[], Vec::as_slice)),
        _ => Vec::new(),
    }
}

/// As many unknown fields as a message names.
const MAX_NAMED: usize = 3;

/// Items with fields, of a list that the type has in another order or length, unless they are known as they are.
fn unknown_anywhere(received: &[Value], before: &[Value]) -> Vec<String> {
    let known: std::collections::HashSet<_> = before.iter().collect();
    let is_plain = |item: &Value| !item.is_object() && !item.is_array();
    let unknown = received.iter().enumerate().filter(|(_, item)| !is_plain(item) && !known.contains(item));
    unknown.map(|(at, _)| format!("[{at}]")).take(MAX_NAMED).collect()
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
