//! What of an object is compared: not what the server writes by itself.

use kube_core::DynamicObject;
use serde_json::Value;

/// The object without status, managed fields and the metadata that the server sets.
pub(super) fn comparable(object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    let Some(fields) = value.as_object_mut() else { return value };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in SET_BY_SERVER {
            metadata.remove(*field);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    value
}

const SET_BY_SERVER: &[&str] =
    &["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// What `kubectl apply` without `--server-side` keeps: the whole object once more.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
