//! What a binding leaves out: the API groups of its role and subjects.

use serde_json::Value;

use super::RBAC;
use crate::scheme::Endpoint;

/// Sets the API groups of a binding.
pub(crate) fn prepare(endpoint: &Endpoint, object: &mut Value) {
    if endpoint.group() != RBAC || !endpoint.kind().ends_with("Binding") {
        return;
    }
    let missing = |value: &Value| value["apiGroup"].as_str().unwrap_or_default().is_empty();
    if object["roleRef"].is_object() && missing(&object["roleRef"]) {
        object["roleRef"]["apiGroup"] = RBAC.into();
    }
    for subject in object
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter(|subject| subject.is_object())
    {
        if matches!(subject["kind"].as_str(), Some("User" | "Group")) && missing(subject) {
            subject["apiGroup"] = RBAC.into();
        }
    }
}
