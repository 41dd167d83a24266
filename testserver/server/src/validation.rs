//! Validation of an object before it is stored: metadata, schema, the rules of its kind, and its changes.

use serde_json::Value;

use crate::{
    admission::{validate_config, validate_policy},
    crd::{self, definition},
    object::meta,
    rbac,
    schema::FieldError,
    scheme::Endpoint,
    status_error::StatusError,
    strategy::{self, WritePart},
};

/// Validates metadata, schema and kind of an object in a write of `part` of it. Returns warnings.
pub(crate) fn validate(
    endpoint: &Endpoint,
    part: WritePart,
    object: &Value,
    old: Option<&Value>,
) -> Result<Vec<String>, StatusError> {
    let schema = endpoint.schema();
    let mut errors = schema.validate(object);
    if !endpoint.resource.custom {
        // The keys of lists in built-in kinds are for merging, and what OpenAPI requires has a zero value in Go: rules of the kind say what is
        // unique and required.
        let typed = endpoint.go_type().is_some();
        let ruled = |reason| reason == "FieldValueDuplicate" || reason == "FieldValueRequired" && typed;
        errors.retain(|error| !ruled(error.reason));
    }
    if let Some(old) = old.filter(|_| endpoint.resource.custom && !errors.is_empty()) {
        errors = schema.validate_update(object, old);
    }
    if endpoint.resource.custom {
        errors.extend(
            endpoint.version().scale.iter().flat_map(|paths| strategy::validate_scale(object, paths)),
        );
    }
    if endpoint.resource.custom {
        for (path, embedded) in schema.embedded(object) {
            let placed = |error: FieldError| FieldError { field: format!("{path}.{}", error.field), ..error };
            errors.extend(strategy::validate_embedded(embedded).into_iter().map(placed));
        }
    }
    let violations = schema.check_rules(object, old, &errors);
    errors.extend(violations.errors);
    if is_definition(endpoint) {
        // Go fills in missing fields; the rules of definitions say which are required.
        errors.retain(|error| error.reason != "FieldValueRequired");
        errors.extend(definition_errors(object, old));
    }
    let mut of_kind = rbac::validate(endpoint, object);
    of_kind.extend(strategy::validate_kind(endpoint, object, old.is_none()));
    if endpoint.group() == "admissionregistration.k8s.io" && part == WritePart::Main {
        of_kind.extend(validate_policy(endpoint.plural(), object));
        of_kind.extend(validate_config(object));
    }
    if let Some(ty) = endpoint.go_type().filter(|_| !is_definition(endpoint)) {
        let mut of_type = strategy::validate_type(ty, part, object, old);
        let same =
            |one: &FieldError, other: &FieldError| one.field == other.field && one.reason == other.reason;
        of_type.retain(|error| !of_kind.iter().any(|known| same(known, error)));
        of_kind.extend(of_type);
    }
    of_kind.extend(strategy::validate_mounts(endpoint, object, &of_kind));
    // Rules of the kind report the same fields more precisely than the schema.
    errors.retain(|error| !of_kind.iter().any(|better| better.field == error.field));
    errors.extend(of_kind);
    errors.splice(0..0, strategy::validate_metadata(endpoint, object, old));
    if let Some(old) = old.filter(|_| part == WritePart::Main) {
        errors.extend(strategy::validate_immutable(endpoint, old, object));
    }
    if errors.is_empty() {
        let mut warnings: Vec<String> = violations.ratcheted.iter().map(ToString::to_string).collect();
        if part == WritePart::Main {
            warnings.extend(strategy::finalizer_warnings(endpoint, object, old));
            warnings.extend(strategy::warnings(endpoint, object));
        }
        if is_definition(endpoint) && part == WritePart::Main {
            warnings.extend(definition::format_warnings(object, old));
        }
        return Ok(warnings);
    }
    // Errors name the stored kind of a storage equivalent.
    let group =
        endpoint.resource.equivalent.map_or(endpoint.group(), |equivalent| equivalent.stored_kind.group);
    Err(StatusError::invalid(group, endpoint.kind(), meta::name(object), &errors))
}

/// Whether the kind is CustomResourceDefinition.
pub(crate) fn is_definition(endpoint: &Endpoint) -> bool {
    endpoint.resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

/// The errors of a completed CRD and its changes.
fn definition_errors(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = definition::validate(definition);
    if let Some(old) = old {
        errors.extend(definition::validate_update(old, definition));
    }
    errors.extend(crd::check_schemas(definition));
    errors
}
