//! Strategic merge patch: a merge patch whose schema says which lists merge, and by which key.

mod merge;
mod order;
mod restore;

use serde_json::Value;

use super::PatchError;
use crate::schema::{Schema, golang};

/// Merges `patch` into `target`. Members merge as in a merge patch; lists with a merge strategy merge by their merge key, or as sets of
/// primitives; `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/x` and `$setElementOrder/x` follow the Kubernetes API conventions. Nulls
/// in new values are dropped.
pub(crate) fn apply(schema: &Schema, target: &mut Value, patch: &Value) -> Result<(), PatchError> {
    if patch.is_null() {
        return Ok(());
    }
    let Value::Object(changes) = patch else {
        let got = golang::json_type(patch);
        let why = format!("json: cannot unmarshal {got} into Go value of type map[string]interface {{}}");
        return Err(PatchError::Malformed(why));
    };
    // An object that is decoded into a Go type keeps its own.
    for name in ["apiVersion", "kind"] {
        if let Some(value @ (Value::Bool(_) | Value::Number(_))) = changes.get(name) {
            let message = format!("cannot convert {} to string", restore::kind(value));
            return Err(PatchError::Invalid { patch: golang::plain(patch), message });
        }
    }
    if !target.is_object() {
        *target = Value::Object(Default::default());
    }
    let Value::Object(object) = target else { return Ok(()) };
    merge::merge_map(Some(schema.root()), object, changes).map_err(|error| match error {
        PatchError::Invalid { message, .. } => PatchError::Invalid { patch: golang::plain(patch), message },
        other => other,
    })
}
