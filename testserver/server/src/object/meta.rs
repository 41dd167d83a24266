//! Access to `metadata` of JSON objects.

use serde_json::{Map, Value};

/// The string at `metadata.<field>`; `None` if it is missing, empty, null or not a string.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str().filter(|s| !s.is_empty())
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "name").unwrap_or_default()
}

/// The name, or what it will be generated from.
pub(crate) fn name_or_base(object: &Value) -> &str {
    let base = || text(object, "generateName").unwrap_or_default();
    Some(name(object)).filter(|name| !name.is_empty()).unwrap_or_else(base)
}

/// The strings in a list such as `metadata.finalizers`.
pub(crate) fn strings<'a>(object: &'a Value, field: &str) -> Vec<&'a str> {
    let list = object.get("metadata").and_then(|m| m.get(field)).and_then(Value::as_array);
    list.map(|items| items.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// `metadata` as a map, created if missing. `None` when the object or its metadata is not a JSON object.
pub(crate) fn map_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let object = object.as_object_mut()?;
    // An entry would copy the name each time.
    if !object.contains_key("metadata") {
        object.insert("metadata".into(), Value::Object(Map::new()));
    }
    object.get_mut("metadata")?.as_object_mut()
}

/// Sets `metadata.<field>`, or removes it when `value` is null.
pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    let Some(metadata) = map_mut(object) else { return };
    match value.into() {
        Value::Null => drop(metadata.remove(field)),
        value => drop(metadata.insert(field.into(), value)),
    }
}

/// Copies `metadata.<field>` from another object, its absence included.
pub(crate) fn copy(object: &mut Value, from: &Value, field: &str) {
    set(object, field, from.get("metadata").and_then(|m| m.get(field)).cloned().unwrap_or_default());
}

/// Replaces the finalizers; an empty list removes the field.
pub(crate) fn set_finalizers<'a>(object: &mut Value, finalizers: impl IntoIterator<Item = &'a str>) {
    let list: Vec<Value> = finalizers.into_iter().map(Value::from).collect();
    set(object, "finalizers", if list.is_empty() { Value::Null } else { Value::Array(list) });
}

pub(crate) fn labels_are_empty(object: &Value) -> bool {
    object["metadata"]["labels"].as_object().is_none_or(serde_json::Map::is_empty)
}

/// Removes empty strings, lists and maps.
pub(crate) fn drop_empty(object: &mut Value) {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    if let Some(metadata) = map_mut(object) {
        metadata.retain(|_, value| !empty(value));
    }
}

/// `metadata.resourceVersion` as a number.
pub(crate) fn revision(object: &Value) -> Option<u64> {
    text(object, "resourceVersion")?.parse().ok()
}

/// The remaining grace period of a deletion in seconds.
pub(crate) fn grace(object: &Value) -> i64 {
    object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0)
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    text(object, "deletionTimestamp").is_some()
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) controls: bool,
    pub(crate) blocks_deletion: bool,
}

pub(crate) fn owners(object: &Value) -> Vec<Owner> {
    let list = object.get("metadata").and_then(|m| m.get("ownerReferences")).and_then(Value::as_array);
    list.into_iter().flatten().map(owner).collect()
}

pub(crate) fn owner(reference: &Value) -> Owner {
    let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let flag = |key: &str| reference.get(key).and_then(Value::as_bool).unwrap_or(false);
    Owner {
        api_version: text("apiVersion"),
        kind: text("kind"),
        name: text("name"),
        uid: text("uid"),
        controls: flag("controller"),
        blocks_deletion: flag("blockOwnerDeletion"),
    }
}

/// Splits `group/version`; the core group has no slash.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Joins group and version the way `apiVersion` is written.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_string() } else { format!("{group}/{version}") }
}
