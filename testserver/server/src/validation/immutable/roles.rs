//! Bindings: the role is fixed.

use serde_json::Value;

use super::values::IMMUTABLE;
use crate::schema::ErrorList;

pub(super) fn check(old: &Value, new: &Value, errors: &mut ErrorList) {
    let now = &new["roleRef"];
    if old["roleRef"] != *now {
        let part = |name: &str| Value::from(now[name].as_str().unwrap_or_default());
        // As Go prints the struct.
        let (group, kind, name) = (part("apiGroup"), part("kind"), part("name"));
        let printed = format!("{{\"APIGroup\":{group},\"Kind\":{kind},\"Name\":{name}}}");
        errors.invalid("roleRef", printed, IMMUTABLE);
    }
}
