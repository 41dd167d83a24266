//! Bindings: the role is fixed.

use serde_json::Value;

use super::values::IMMUTABLE;
use crate::schema::FieldError;

pub(super) fn check(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let now = &new["roleRef"];
    if old["roleRef"] != *now {
        let part = |name: &str| Value::from(now[name].as_str().unwrap_or_default());
        // As Go prints the struct.
        let (group, kind, name) = (part("apiGroup"), part("kind"), part("name"));
        let printed = format!("{{\"APIGroup\":{group},\"Kind\":{kind},\"Name\":{name}}}");
        errors.push(FieldError::invalid("roleRef", printed, IMMUTABLE));
    }
}
