//! Validation of custom resources by their schema and its rules.

use serde_json::Value;

use super::metadata;
use crate::{
    schema::{ErrorList, FieldError, RuleViolations},
    scheme::{Endpoint, ScalePaths},
};

/// All errors of an object, and the violations of rules that the old object has as well.
pub(super) fn validate(endpoint: &Endpoint, object: &Value, old: Option<&Value>) -> RuleViolations {
    let schema = endpoint.schema();
    let mut errors = schema.validate(object);
    if let Some(old) = old.filter(|_| !errors.is_empty()) {
        errors = schema.validate_update(object, old);
    }
    errors.extend(endpoint.version().scale.iter().flat_map(|paths| counts(object, paths)));
    for (path, embedded) in schema.embedded(object) {
        metadata::validate_embedded(embedded, &path, &mut errors);
    }
    let RuleViolations { errors: violations, ratcheted } = schema.check_rules(object, old, &errors);
    errors.extend(violations);
    RuleViolations { errors, ratcheted }
}

/// Checks the counts that the `scale` subresource shows.
fn counts(object: &Value, paths: &ScalePaths) -> ErrorList {
    let wrong = [&paths.spec, &paths.status].into_iter().filter_map(|path| {
        let count = object.pointer(&path.replace('.', "/"))?.as_i64()?;
        let why = match count {
            ..0 => "should be a non-negative integer",
            0..=2_147_483_647 => return None,
            _ => "should be less than or equal to 2147483647",
        };
        Some(FieldError::invalid(path.as_str(), count, why))
    });
    wrong.collect()
}
