//! Server-side apply.

use serde_json::Value;
use thiserror::Error;

use super::{
    conflict::{self, Conflict},
    fields::FieldSet,
    managed::{self, ManagedFieldsEntry, ManagedFieldsOperation},
    merge::merge,
    shape::SchemaPosition,
    typed,
    update::{Update, update},
    versions::{Changed, ChangedFields, Versions, without_given_up},
};
use crate::{schema::Schema, webhook::Interruption};

/// The manager of all fields of an object that was never applied before.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// An apply request.
pub(crate) struct Apply<'a> {
    pub(crate) schema: &'a Schema,
    /// The stored object, if it exists.
    pub(crate) live: Option<&'a Value>,
    /// Its `managedFields`; those in `live` are ignored.
    pub(crate) managers: &'a [ManagedFieldsEntry],
    /// The applied configuration.
    pub(crate) config: &'a Value,
    pub(crate) manager: &'a str,
    pub(crate) api_version: &'a str,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Members that this write cannot change, such as a status subresource. They must match the schema and are then ignored. In `metadata`,
    /// the identity of the object stays.
    pub(crate) ignored: &'a [&'a str],
    /// Take over fields from other managers.
    pub(crate) force: bool,
    /// RFC 3339.
    pub(crate) now: &'a str,
    pub(crate) versions: &'a dyn Versions,
}

/// The result of an apply.
#[derive(Debug)]
pub(crate) struct Applied {
    /// Without `metadata.managedFields`, and before defaults.
    pub(crate) object: Value,
    pub(crate) managers: Vec<ManagedFieldsEntry>,
}

/// Why an apply was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ApplyError {
    /// Other managers own fields with other values (409 Conflict, one cause each).
    #[error("{}", Summary(.0))]
    Conflicts(Vec<Conflict>),
    /// The configuration does not match the schema (genuine servers respond with 500).
    #[error("{0}")]
    Invalid(String),
    /// The configuration contains `managedFields` (400 BadRequest).
    #[error("metadata.managedFields must be nil")]
    BringsManagedFields,
    /// A manager owns fields in another version, and the object cannot be converted to it, or not before a webhook has responded.
    #[error("an object cannot be converted to a version in which a manager owns fields")]
    Conversion(Interruption),
}

impl From<Interruption> for ApplyError {
    fn from(interruption: Interruption) -> Self {
        Self::Conversion(interruption)
    }
}

struct Summary<'a>(&'a [Conflict]);

impl std::fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        conflict::summary(self.0, f)
    }
}

/// Merges the configuration into the live object: sets its fields, removes fields that this manager applied before and no longer names
/// (unless another manager owns them), and keeps everything else.
pub(crate) fn apply(request: Apply<'_>) -> Result<Applied, ApplyError> {
    let Apply { schema, config, force, now, versions, .. } = request;
    let root = SchemaPosition::root(schema.root());
    if config.pointer("/metadata/managedFields").is_some_and(|fields| !fields.is_null()) {
        return Err(ApplyError::BringsManagedFields);
    }
    let named =
        typed::named_fields(root, config).map_err(|why| ApplyError::Invalid(untyped(config, &why)))?;

    let live = request.live.map_or_else(|| Value::Object(Default::default()), without_managed_fields);
    let managers = known_managers(&request, &live)?;
    let own = ManagedFieldsEntry {
        manager: request.manager.into(),
        operation: ManagedFieldsOperation::Apply,
        api_version: request.api_version.into(),
        time: None,
        subresource: request.subresource.into(),
        fields: changeable(managed::ownable(named), request.ignored),
    };
    let (mut others, before) = managed::split(&managers, &own);

    let mut object = merge(root, &live, &without_fixed_fields(config, request.ignored));
    if let Some(before) = &before {
        let owners: Vec<&ManagedFieldsEntry> = others.iter().chain([&own]).collect();
        object = without_given_up(versions, request.api_version, object, before, &owners)?;
    }

    let changed = Changed::between(schema, &live, &object);
    let changed = ChangedFields::new(versions, request.api_version, changed, &live, &object);
    transfer_ownership(&mut others, changed, force)?;

    let time = if object == live { before.and_then(|entry| entry.time) } else { Some(now.to_owned()) };
    others.push(ManagedFieldsEntry { time, ..own });
    Ok(Applied { object, managers: managed::normalize(others) })
}

/// The live object with the fields of a configuration, without regard to field managers. The error names a field that the schema does not
/// have.
pub(crate) fn merged(schema: &Schema, live: &Value, config: &Value) -> Result<Value, String> {
    let root = SchemaPosition::root(schema.root());
    typed::named_fields(root, config)?;
    Ok(merge(root, live, config))
}

/// Takes over fields from other managers, or returns the conflicts.
fn transfer_ownership(
    others: &mut Vec<ManagedFieldsEntry>,
    mut changed: ChangedFields<'_>,
    force: bool,
) -> Result<(), ApplyError> {
    let (mut conflicts, mut left) = (Vec::new(), Vec::new());
    for mut entry in others.drain(..) {
        // Entries of a version that no longer exists are dropped.
        let Some(Changed { taken, removed }) = changed.in_version(&entry.api_version)? else { continue };
        conflicts.extend(conflict::with_owner(&entry, taken));
        entry.fields = entry.fields.difference(taken).difference(removed);
        left.push(entry);
    }
    *others = left;
    if !force && !conflicts.is_empty() {
        conflicts.sort_by(|a, b| a.owner.cmp(&b.owner));
        return Err(ApplyError::Conflicts(conflicts));
    }
    Ok(())
}

/// On the first apply to an object without managers, everything in it belongs to [`BEFORE_FIRST_APPLY`].
fn known_managers(request: &Apply<'_>, live: &Value) -> Result<Vec<ManagedFieldsEntry>, Interruption> {
    match request.live {
        Some(_) if request.managers.is_empty() => update(Update {
            schema: request.schema,
            old: None,
            new: live,
            managers: &[],
            manager: BEFORE_FIRST_APPLY,
            api_version: request.api_version,
            subresource: "",
            now: request.now,
            versions: request.versions,
        }),
        _ => Ok(request.managers.to_vec()),
    }
}

fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    object
}

fn changeable(mut fields: FieldSet, ignored: &[&str]) -> FieldSet {
    fields.cut(ignored);
    fields
}

/// The configuration without fields that the server sets. Clients send some of them, mostly as null (`creationTimestamp`).
fn without_fixed_fields(config: &Value, ignored: &[&str]) -> Value {
    let mut config = without_managed_fields(config);
    let Value::Object(members) = &mut config else { return config };
    members.retain(|name, _| name == "metadata" || !ignored.contains(&name.as_str()));
    if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
        let identity = |name: &str| matches!(name, "name" | "namespace" | "uid" | "resourceVersion");
        let fixed = ignored.contains(&"metadata");
        metadata.retain(|name, _| {
            identity(name)
                || !(fixed || matches!(name.as_str(), "creationTimestamp" | "generation" | "selfLink"))
        });
    }
    config
}

fn untyped(config: &Value, why: &str) -> String {
    let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let (group, version) = crate::object::meta::split_api_version(text("/apiVersion"));
    let kind = text("/kind");
    format!("failed to create typed patch object ({namespace}/{name}; {group}/{version}, Kind={kind}): {why}")
}

#[cfg(test)]
mod tests;
