//! Reads keywords of a schema document; a keyword that is missing or has the wrong type reads as its zero value.

use serde_json::Value;

pub(super) fn flag(doc: &Value, name: &str) -> bool {
    doc.get(name).and_then(Value::as_bool).unwrap_or(false)
}

pub(super) fn text<'d>(doc: &'d Value, name: &str) -> &'d str {
    doc.get(name).and_then(Value::as_str).unwrap_or_default()
}
