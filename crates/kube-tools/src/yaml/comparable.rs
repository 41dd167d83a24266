//! What of an object is compared: not what the server writes with every change.

use kube_core::DynamicObject;
use serde_json::Value;

/// The object without managed fields and the metadata that the server sets.
pub(super) fn comparable(object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in SET_BY_SERVER {
            metadata.remove(*field);
        }
    }
    value
}

const SET_BY_SERVER: &[&str] =
    &["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];
