//! Keywords that structural schemas do not support. If any is present, the other rules are not checked.

use serde_json::Value;

use crate::schema::ErrorList;

const UNSUPPORTED: [&str; 7] =
    ["$ref", "$schema", "additionalItems", "definitions", "dependencies", "id", "patternProperties"];

pub(super) fn check(errors: &mut ErrorList, at: &str, doc: &Value) {
    for name in UNSUPPORTED {
        if doc.get(name).is_some_and(|v| !v.is_null() && v != "") {
            errors.forbidden(format!("{at}.{name}"), &format!("{name} is not supported"));
        }
    }
    if flag(doc, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.forbidden(format!("{at}.uniqueItems"), why);
    }
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if doc.get(preserve) == Some(&Value::Bool(false)) {
        errors.invalid(format!("{at}.{preserve}"), "false", "must be true or undefined");
    }
    if doc.get("items").is_some_and(Value::is_array) {
        errors.forbidden(format!("{at}.items"), "items must be a schema object and not an array");
    }
    below(errors, at, doc);
}

fn below(errors: &mut ErrorList, at: &str, doc: &Value) {
    for (name, inner) in doc.get("properties").and_then(Value::as_object).into_iter().flatten() {
        check(errors, &format!("{at}.properties[{name}]"), inner);
    }
    for name in ["items", "additionalProperties", "not"] {
        if let Some(inner @ Value::Object(_)) = doc.get(name) {
            check(errors, &format!("{at}.{name}"), inner);
        }
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        for (i, inner) in doc.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            check(errors, &format!("{at}.{name}[{i}]"), inner);
        }
    }
}

/// A keyword of a schema document; `false` when it is missing or has another type.
pub(super) fn flag(doc: &Value, name: &str) -> bool {
    doc.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// A keyword of a schema document; empty when it is missing or has another type.
pub(super) fn text<'d>(doc: &'d Value, name: &str) -> &'d str {
    doc.get(name).and_then(Value::as_str).unwrap_or_default()
}
