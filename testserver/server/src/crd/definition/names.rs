//! The names under which a CRD is served.

use serde_json::Value;

use super::versions::list;
use crate::{
    object::names,
    schema::{ErrorList, FieldError},
};

pub(super) fn validate(provided: &Value, errors: &mut ErrorList) {
    for (key, lower_case) in [("plural", true), ("singular", true), ("kind", false), ("listKind", false)] {
        let field = format!("spec.names.{key}");
        let name = provided[key].as_str().unwrap_or_default();
        if name.is_empty() {
            errors.required(field, "");
        } else if lower_case {
            errors.extend(not_a_label(field, name));
        } else if let Some(wrong) = names::kind(name) {
            errors.invalid(field, format!("{name:?}"), &wrong);
        }
    }
    for key in ["shortNames", "categories"] {
        for (i, name) in list(&provided[key]).iter().enumerate() {
            errors.extend(not_a_label(format!("spec.names.{key}[{i}]"), name.as_str().unwrap_or_default()));
        }
    }
    if provided["kind"].as_str().is_some_and(|kind| !kind.is_empty())
        && provided["kind"] == provided["listKind"]
    {
        errors.invalid("spec.names.listKind", &provided["listKind"], "kind and listKind may not be the same");
    }
}

fn not_a_label(field: String, name: &str) -> Option<FieldError> {
    let wrong = names::service_name(name)?;
    Some(FieldError::invalid(field, format!("{name:?}"), &wrong))
}
