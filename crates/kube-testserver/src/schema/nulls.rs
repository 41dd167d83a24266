//! Nulls that stand for nothing.

use serde_json::Value;

use super::model::{Field, Schema, Source};

impl Schema {
    /// Drops members that are null where null is not a value. To be called after defaults are filled in, on creates,
    /// updates and all patches but apply (which reports such nulls as invalid, for custom resources).
    ///
    /// In built-in kinds a null is never a value.
    pub(crate) fn drop_nulls(&self, object: &mut Value) {
        walk(self.root(), object, matches!(self.source, Source::Table(_)));
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
            true
        }),
        Value::Array(list) => {
            let Some(inner) = &node.items else { return };
            list.iter_mut().for_each(|value| walk(inner, value, built_in));
        }
        _ => {}
    }
}
