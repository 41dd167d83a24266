//! Validation of custom resources by their schema and its rules.

use serde_json::Value;

use super::metadata;
use crate::{
    schema::{ErrorList, RuleViolations, nested},
    scheme::{Endpoint, ScalePaths},
};

/// All errors of an object, and the violations of rules that the old object has as well.
pub(super) fn validate(endpoint: &Endpoint, object: &Value, old: Option<&Value>) -> RuleViolations {
    let schema = endpoint.schema();
    let mut errors = schema.validate(object);
    if let Some(old) = old.filter(|_| !errors.is_empty()) {
        errors = schema.validate_update(object, old);
    }
    errors.extend(endpoint.version().scale.iter().flat_map(|paths| scaled(object, paths)));
    for (path, embedded) in schema.embedded(object) {
        metadata::validate_embedded(embedded, &path, &mut errors);
    }
    let RuleViolations { errors: violations, ratcheted } = schema.check_rules(object, old, &errors);
    errors.extend(violations);
    RuleViolations { errors, ratcheted }
}

/// Checks what the `scale` subresource shows.
fn scaled(object: &Value, paths: &ScalePaths) -> ErrorList {
    let mut errors = ErrorList::default();
    for path in [&paths.spec, &paths.status] {
        match nested::integer(object, path) {
            Err(why) => errors.invalid(path.as_str(), 0, &why),
            Ok(Some(count @ ..0)) => errors.invalid(path.as_str(), count, "should be a non-negative integer"),
            Ok(Some(count @ 2_147_483_648..)) => {
                errors.invalid(path.as_str(), count, "should be less than or equal to 2147483647");
            }
            Ok(_) => {}
        }
    }
    if let Some((path, Err(why))) = paths.selector.as_ref().map(|path| (path, nested::text(object, path))) {
        errors.invalid(path.as_str(), "\"\"", &why);
    }
    errors
}
