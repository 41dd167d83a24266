//! What a write has to pass before its object is stored.

use serde_json::Value;

use super::{built_in, custom_resource, kinds::Write, metadata};
use crate::{
    crd::definition_warnings,
    object::meta,
    scheme::Endpoint,
    status_error::StatusError,
    strategy::{self, WritePart},
};

/// Validates metadata and all else of an object in a write of `part` of it. Returns warnings.
pub(crate) fn validate(
    endpoint: &Endpoint,
    part: WritePart,
    object: &Value,
    old: Option<&Value>,
) -> Result<Vec<String>, StatusError> {
    let mut errors = metadata::validate(endpoint, object, old);
    let mut warnings = Vec::new();
    if endpoint.resource.custom {
        let violations = custom_resource::validate(endpoint, object, old);
        errors.extend(violations.errors);
        warnings.extend(violations.ratcheted.iter().map(ToString::to_string));
    } else {
        built_in::validate(&Write { endpoint, part, object, old }, &mut errors);
    }
    if !errors.is_empty() {
        // Errors name the stored kind of a storage equivalent.
        let stored = endpoint.resource.equivalent.map(|equivalent| equivalent.stored_kind.group);
        let group = stored.unwrap_or(endpoint.group());
        return Err(StatusError::invalid(group, endpoint.kind(), meta::name(object), &errors));
    }
    if part == WritePart::Main {
        warnings.extend(metadata::finalizer_warnings(endpoint, object, old));
        warnings.extend(strategy::warnings(endpoint, object));
        if endpoint.resource.is_definition() {
            warnings.extend(definition_warnings(object, old));
        }
    }
    Ok(warnings)
}
