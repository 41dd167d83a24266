//! Ownership after a create, an update, or any patch but apply.

use serde_json::{Map, Value};

use super::compare::compare;
use super::managed::{self, ManagedFieldsEntry, ManagedFieldsOperation};
use super::shape::SchemaPosition;
use crate::schema::Schema;
use crate::schema::model::{Field, Type};

/// The entries after `manager` changed `old` (None: nothing) into `new`.
///
/// The manager now owns what it added or changed; nobody owns what is gone. An object that nobody is known to own
/// stays so: `managers` empty means that ownership was reset, or never kept.
#[allow(clippy::too_many_arguments)] // one call site per verb; the names are all different things
pub(crate) fn update(
    schema: &Schema,
    old: Option<&Value>,
    new: &Value,
    managers: &[ManagedFieldsEntry],
    manager: &str,
    api_version: &str,
    subresource: &str,
    now: &str,
) -> Vec<ManagedFieldsEntry> {
    if old.is_some() && managers.is_empty() {
        return Vec::new();
    }
    let nothing;
    let old = match old {
        Some(old) => old,
        None => {
            nothing = blank(schema.root());
            &nothing
        }
    };
    let changes = compare(SchemaPosition::root(schema.root()), old, new);
    let (taken, removed) = (managed::ownable(changes.taken()), managed::ownable(changes.removed));
    let own = ManagedFieldsEntry {
        manager: manager.into(),
        operation: ManagedFieldsOperation::Update,
        api_version: api_version.into(),
        time: None,
        subresource: subresource.into(),
        fields: Default::default(),
    };
    let (mut entries, before) = managed::split(managers, &own);
    for entry in &mut entries {
        entry.fields = entry.fields.difference(&taken).difference(&removed);
    }
    let mut own = before.unwrap_or(own);
    own.fields = own.fields.difference(&removed).union(&taken);
    if !taken.is_empty() {
        // The genuine server notes no time for what came by way of a scale.
        own.time = (subresource != "scale").then(|| now.into());
    }
    entries.push(own);
    managed::normalize(entries)
}

/// What a built-in object holds before anything is in it: the structs that Go keeps by value, and null for the lists
/// and maps that it always sends. For custom resources: nothing.
fn blank(field: &Field) -> Value {
    let node = field.node();
    let mut out = Map::new();
    let required = node.rules.as_ref().map(|rules| rules.required.as_slice()).unwrap_or_default();
    for (name, inner) in node.properties.iter() {
        if inner.by_value() {
            out.insert(name.to_string(), blank(inner));
        } else if field.named_type() && required.contains(name) && inner.node().ty == Some(Type::Array) {
            out.insert(name.to_string(), Value::Null);
        }
    }
    Value::Object(out)
}
