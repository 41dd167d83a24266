//! Removal of null members of custom resources. Those of built-in kinds are gone when they are decoded.

use serde_json::Value;

use super::model::{Field, Schema};

impl Schema {
    /// Drops null members that are not nullable. Called after defaulting on creates, updates and all patches except apply, which reports
    /// such nulls as invalid.
    pub(crate) fn drop_nulls(&self, object: &mut Value) {
        walk(self.root(), object);
    }
}

fn walk(field: &Field, value: &mut Value) {
    let node = field.node();
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let Some(inner) = node.properties.get(name.as_str()).or(node.additional.as_deref()) else {
                return true;
            };
            let typed = inner.node().ty.is_some() || inner.node().int_or_string;
            if value.is_null() && typed && !inner.node().nullable {
                return false;
            }
            walk(inner, value);
            true
        }),
        Value::Array(list) => {
            let Some(inner) = &node.items else { return };
            list.iter_mut().for_each(|value| walk(inner, value));
        }
        _ => {}
    }
}
