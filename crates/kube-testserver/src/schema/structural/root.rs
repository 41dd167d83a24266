use serde_json::Value;

use super::place::{self, Role};
use super::vocabulary;
use crate::schema::{FieldError, cel};

/// All violations of the schema of a custom resource; their paths begin with `at`.
pub(in crate::schema) fn check(at: &str, doc: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    vocabulary::check(&mut errors, at, doc);
    if !errors.is_empty() {
        return errors;
    }
    match doc.get("type").and_then(Value::as_str).unwrap_or_default() {
        "" => errors.push(FieldError::required(format!("{at}.type"), "must not be empty at the root")),
        "object" => {}
        other => errors.push(FieldError::invalid(
            format!("{at}.type"),
            format!("{other:?}"),
            "must be object at the root",
        )),
    }
    if doc.get("nullable") == Some(&Value::Bool(true)) {
        errors.push(FieldError::forbidden(format!("{at}.nullable"), "nullable cannot be true at the root"));
    }
    if doc.get("additionalProperties").is_some() {
        errors.push(FieldError::forbidden(
            format!("{at}.additionalProperties"),
            "must not be used at the root",
        ));
    }
    place::check(&mut errors, at, doc, Role::Root);
    if errors.is_empty() {
        errors.extend(cel::check_definition(at, doc));
    }
    errors
}
