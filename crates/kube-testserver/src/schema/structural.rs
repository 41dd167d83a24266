//! The rules that make a schema structural, worded as the genuine server words them.

use serde_json::Value;

use super::FieldError;

/// All violations, in document order.
pub(super) fn check(at: &str, doc: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if doc.get("type").and_then(Value::as_str) != Some("object") {
        errors.push(match doc.get("type").and_then(Value::as_str).filter(|t| !t.is_empty()) {
            Some(other) => {
                FieldError::invalid(format!("{at}.type"), format!("{other:?}"), "must be object at the root")
            }
            None => FieldError::required(format!("{at}.type"), "must not be empty at the root"),
        });
    }
    errors
}
