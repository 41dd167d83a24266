//! Removal of null members.

use serde_json::Value;

use super::model::{Field, Schema, Source, Type};

impl Schema {
    /// Drops null members that are not nullable. Called after defaulting on creates, updates and all patches except apply (which reports
    /// such nulls as invalid for custom resources).
    ///
    /// In built-in kinds null is never a value, and empty optional lists and maps are dropped too: Go omits them.
    pub(crate) fn drop_nulls(&self, object: &mut Value) {
        walk(self.root(), object, matches!(self.source, Source::Table { .. }));
    }
}

fn walk(field: &Field, value: &mut Value, built_in: bool) {
    let node = field.node();
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let Some(inner) = node.properties.get(name.as_str()).or(node.additional.as_deref()) else {
                return true;
            };
            let typed = inner.node().ty.is_some() || inner.node().int_or_string;
            if value.is_null() && (typed && !inner.node().nullable || built_in) {
                return false;
            }
            walk(inner, value, built_in);
            let needed =
                || node.rules.as_ref().is_some_and(|rules| rules.required.iter().any(|one| **one == **name));
            !(built_in && is_nothing(inner, value) && !needed())
        }),
        Value::Array(list) => {
            let Some(inner) = &node.items else { return };
            list.iter_mut().for_each(|value| walk(inner, value, built_in));
        }
        _ => {}
    }
}

fn is_nothing(field: &Field, value: &Value) -> bool {
    let node = field.node();
    match value {
        // In a place for any JSON, such as the default of a schema, an empty list is a value.
        Value::Array(list) => list.is_empty() && node.ty == Some(Type::Array),
        // An empty struct may be meaningful; an empty map is not.
        Value::Object(map) => map.is_empty() && node.properties.is_empty() && node.additional.is_some(),
        _ => false,
    }
}
