//! What a manager has applied, from the managed fields of an object. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Sparse,
    managed_fields::{Owned, PathElement, is_entry_of, tree_of},
    merge_types::MergeType,
};
use crate::Resource;

/// Why the configuration of a manager cannot be read from an object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The object has no managed fields. They were left out when it was read (`Prune`, `without_managed_fields`), or removed from the
    /// object. What was applied is unknown; applying without it would remove it.
    #[error("{object} has no metadata.managedFields: expected an object that was read with them")]
    NoManagedFields {
        /// Kind, name and namespace.
        object: String,
    },
    /// The manager has applied the object in another version of its kind, where fields may have other names.
    #[error(
        "{manager:?} has applied {object} as {applied}: expected an object that was read as {applied}, not as {read}"
    )]
    OtherVersion {
        /// Kind, name and namespace.
        object: String,
        /// The field manager.
        manager: String,
        /// The `apiVersion` of the manager.
        applied: String,
        /// The `apiVersion` of the object.
        read: String,
    },
    /// The entry of the manager has no fields that can be read.
    #[error(
        "the entry of {manager:?} in metadata.managedFields of {object} has no fieldsV1: expected an object"
    )]
    NoFields {
        /// Kind, name and namespace.
        object: String,
        /// The field manager.
        manager: String,
    },
    /// The object has no `apiVersion` and `kind`, as a `DynamicObject` without `types`.
    #[error("the object {name} has no apiVersion and kind")]
    NoType {
        /// The name of the object.
        name: String,
    },
    /// The object cannot be serialized.
    #[error("{object} cannot be serialized: {error}")]
    NotSerializable {
        /// The name of the object.
        object: String,
        /// The reason.
        #[source]
        error: serde_json::Error,
    },
}

/// The configuration that `manager` applied last: of `live`, the fields that it owns by apply.
///
/// To change some fields and keep the others that were applied, apply it again merged with the change. It is never more than the manager
/// owns by apply, so that applying it again changes no value. `subresource` is `None` for what was applied to the object itself and
/// `Some("status")` for what was applied to its status. If the manager has applied nothing, the result only identifies the object, as in
/// client-go. Read `live` from the server, not from a cache that lags behind the manager's own last apply.
///
/// What the manager owns and the object does not have is not in the result: a value that the server does not store because it is the zero
/// of its type, such as an empty list or `minReadySeconds: 0`, and an empty struct that went with the fields of another manager in it.
///
/// A key of a list item that the manager left to its default, such as the protocol of a port, is not owned and not in the result. An
/// item of which the manager owns no key, as after `ApiExt::adopt` of an update (crate `kube-tools`), has all of them. Servers before
/// 1.22 have one entry for the object and its subresources: there `status` is what that entry has below `status`.
///
/// No I/O; O(size of the object).
///
/// # Errors
///
/// See [`ExtractError`].
///
/// The example is at [`Sparse`].
pub fn extract<K>(live: &K, manager: &str, subresource: Option<&str>) -> Result<Sparse<K>, ExtractError>
where
    K: Resource + Serialize,
{
    let name = live.meta().name.clone().unwrap_or_default();
    let json = match serde_json::to_value(live) {
        Ok(json) => json,
        Err(error) => return Err(ExtractError::NotSerializable { object: name, error }),
    };
    let (Some(api_version), Some(kind)) = (json["apiVersion"].as_str(), json["kind"].as_str()) else {
        return Err(ExtractError::NoType { name });
    };
    let object = match &live.meta().namespace {
        Some(namespace) => format!("{kind} {name} in namespace {namespace}"),
        None => format!("{kind} {name}"),
    };
    let entries = live.meta().managed_fields.as_deref().unwrap_or_default();
    if entries.is_empty() {
        return Err(ExtractError::NoManagedFields { object });
    }
    let mut applied = Map::new();
    if let Some((entry, part)) = entry_of(entries, manager, subresource) {
        let manager = manager.to_owned();
        if entry.api_version.as_deref() != Some(api_version) {
            let (applied, read) = (entry.api_version.clone().unwrap_or_default(), api_version.to_owned());
            return Err(ExtractError::OtherVersion { object, manager, applied, read });
        }
        let Some(owned) = tree_of(entry) else {
            return Err(ExtractError::NoFields { object, manager });
        };
        let place = Place { by_all: Owned::of(entries), of: MergeType::of_built_in(api_version, kind) };
        applied = owned_fields(&json, owned, &place);
        if let Some(part) = part {
            applied.retain(|field, _| field == part);
        }
    }
    identify(&mut applied, &json);
    Ok(Sparse::from_fields(applied))
}

/// The entry of a manager that applies, and the field of it that counts; `None` for all.
fn entry_of<'a>(
    entries: &'a [ManagedFieldsEntry],
    manager: &str,
    subresource: Option<&str>,
) -> Option<(&'a ManagedFieldsEntry, Option<&'static str>)> {
    let find = |subresource| entries.iter().find(|entry| is_entry_of(entry, manager, "Apply", subresource));
    match (find(subresource), subresource) {
        // As servers before 1.22 have it.
        (None, Some("status")) => find(None).map(|entry| (entry, Some("status"))),
        (entry, _) => entry.map(|entry| (entry, None)),
    }
}

/// Adds the fields that identify the object: managers do not own them.
fn identify(applied: &mut Map<String, Value>, live: &Value) {
    applied.insert("apiVersion".into(), live["apiVersion"].clone());
    applied.insert("kind".into(), live["kind"].clone());
    let metadata = applied.entry("metadata").or_insert_with(|| json!({}));
    for field in ["name", "namespace"] {
        if let (Some(metadata), Some(value)) = (metadata.as_object_mut(), live["metadata"].get(field)) {
            metadata.insert(field.into(), value.clone());
        }
    }
}

/// What is known of one place of the object.
struct Place<'a> {
    /// What all managers own there.
    by_all: Owned<'a>,
    /// How servers merge it; `None` for custom resources.
    of: Option<&'a MergeType>,
}

impl<'a> Place<'a> {
    fn field(&self, key: &str, name: &str) -> Self {
        Self { by_all: self.by_all.at(key), of: self.of.map(|of| of.field(name)) }
    }

    fn item(&self, key: &str) -> Self {
        Self { by_all: self.by_all.at(key), of: self.of.map(MergeType::item) }
    }

    /// Whether a value of which a manager owns no part is its own as a whole, and not only as an empty map or list.
    fn is_whole(&self, value: &Value) -> bool {
        match (value, self.of) {
            (Value::Object(_), Some(of)) => of.is_atomic(),
            (Value::Object(_) | Value::Array(_), _) => !self.by_all.has_parts(),
            _ => true,
        }
    }
}

/// The part of `value` that `owned` names; `None` if the value has another shape than the tree, so that nothing of it is left.
fn take(value: &Value, owned: &Map<String, Value>, place: &Place<'_>) -> Option<Value> {
    if owned.keys().all(|key| key == ".") {
        return Some(match value {
            whole if owned.is_empty() && place.is_whole(whole) => whole.clone(),
            Value::Array(_) => json!([]),
            _ => json!({}),
        });
    }
    match value {
        Value::Object(_) => Some(Value::Object(owned_fields(value, owned, place))),
        Value::Array(items) => Some(Value::Array(owned_items(items, owned, place))),
        _ => None,
    }
}

fn owned_fields(value: &Value, owned: &Map<String, Value>, place: &Place<'_>) -> Map<String, Value> {
    let part = |(key, node): (&String, &Value)| {
        let PathElement::Field(name) = PathElement::parse(key)? else { return None };
        Some((name.to_owned(), take(value.get(name)?, node.as_object()?, &place.field(key, name))?))
    };
    owned.iter().filter_map(part).collect()
}

/// The owned items in the order of the list. If several items have the same keys, the first of them counts: a configuration has each once.
fn owned_items(items: &[Value], owned: &Map<String, Value>, place: &Place<'_>) -> Vec<Value> {
    let part = |(key, node): (&String, &Value)| {
        let name = PathElement::parse(key)?;
        let at = items.iter().position(|item| name.names(item))?;
        let mut part = take(&items[at], node.as_object()?, &place.item(key))?;
        if let (PathElement::Key(keys), Value::Object(fields)) = (name, &mut part)
            && !keys.keys().any(|key| fields.contains_key(key))
        {
            fields.extend(keys);
        }
        Some((at, part))
    };
    let mut parts: Vec<_> = owned.iter().filter_map(part).collect();
    parts.sort_by_key(|(at, _)| *at);
    parts.into_iter().map(|(_, part)| part).collect()
}
