//! Field ownership after a create, an update, or a patch other than apply.

use serde_json::{Map, Value};

use super::compare::compare;
use super::managed::{self, ManagedFieldsEntry, ManagedFieldsOperation};
use super::shape::SchemaPosition;
use crate::schema::Schema;
use crate::schema::model::{Field, Type};

/// The entries after `manager` changed `old` (`None`: it did not exist) to `new`.
///
/// The manager owns what it added or changed; removed fields have no owner. Empty `managers` of an existing object mean that ownership was reset: it stays empty.
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
        // Genuine servers set no time for changes through `scale`.
        own.time = (subresource != "scale").then(|| now.into());
    }
    entries.push(own);
    managed::normalize(entries)
}

/// The empty object of a built-in kind: structs that Go holds by value, and null for required lists. Custom resources start empty.
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
