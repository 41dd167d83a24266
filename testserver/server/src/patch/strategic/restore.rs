//! Type checks of patch values.

use serde_json::Value;

use crate::{
    patch::PatchError,
    schema::model::{Field, Type},
};

/// Refuses a value of the wrong kind, such as a string for a list; nested values are validated with the object.
pub(super) fn check(field: Option<&Field>, value: &Value) -> Result<(), PatchError> {
    let Some(field) = field else { return Ok(()) };
    let node = field.node();
    let target_kind = match (node.ty, value) {
        (Some(Type::Array), v) if !v.is_array() && !v.is_null() => "slice from ",
        (Some(Type::Object), v) if !v.is_object() && !v.is_null() => {
            if node.additional.is_some() {
                "map from "
            } else {
                "struct from: "
            }
        }
        _ => return Ok(()),
    };
    Err(PatchError::Invalid {
        patch: String::new(),
        message: format!("cannot restore {target_kind}{}", kind(value)),
    })
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}
