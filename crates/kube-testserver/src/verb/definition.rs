use serde_json::Value;

use crate::{failure::Failure, meta, registry::crd};

/// Refuses a completed CRD that breaks a rule, or changes what it may not.
pub(super) fn check(definition: &Value, old: Option<&Value>) -> Result<(), Failure> {
    let refused = |errors: &[_]| {
        Failure::invalid("apiextensions.k8s.io", "CustomResourceDefinition", meta::name(definition), errors)
    };
    let mut errors = crd::validate(definition);
    if let Some(old) = old {
        errors.extend(crd::validate_update(old, definition));
    }
    if !errors.is_empty() {
        return Err(refused(&errors));
    }
    crd::check_schemas(definition).map_err(|errors| refused(&errors))
}
