//! Validates a definition and its changes, part by part.

use serde_json::Value;

use super::{columns, conversion, group, names, selectable, subresources, versions};
use crate::{object::meta, schema::FieldError};

/// Validates a completed CRD, except for its schemas.
pub(crate) fn validate(crd: &Value) -> Vec<FieldError> {
    let spec = &crd["spec"];
    let mut errors = Vec::new();
    name(crd, &mut errors);
    group::validate(crd, &mut errors);
    scope(spec, &mut errors);
    names::validate(&spec["names"], &mut errors);
    if spec["preserveUnknownFields"] == true {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", "true", detail));
    }
    versions::validate(spec, &mut errors);
    for (place, version) in versions::places(spec, "additionalPrinterColumns") {
        columns::validate(&place, &version["additionalPrinterColumns"], &mut errors);
    }
    for (place, version) in versions::places(spec, "subresources") {
        subresources::validate(&place, &version["subresources"], &mut errors);
    }
    selectable::validate(spec, &mut errors);
    errors.extend(conversion::validate(&spec["conversion"]));
    errors
}

/// Validates changes of an existing CRD. `strategy::validate_immutable` has the fields that cannot change.
pub(crate) fn validate_update(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = conversion::validate_update(&old["spec"]["conversion"], &new["spec"]["conversion"]);
    for stored in versions::list(&old["status"]["storedVersions"]) {
        if !versions::list(&new["spec"]["versions"]).iter().any(|version| version["name"] == *stored) {
            let detail = "missing from spec.versions; it was previously a storage version, and must remain in \
                spec.versions until a storage migration ensures no data remains persisted in it and removes it from \
                status.storedVersions";
            errors.push(FieldError::invalid("status.storedVersions[0]", stored, detail));
        }
    }
    errors
}

fn name(crd: &Value, errors: &mut Vec<FieldError>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (spec, name) = (&crd["spec"], meta::name(crd));
    if name != format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"])) {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", format!("{name:?}"), detail));
    }
}

fn scope(spec: &Value, errors: &mut Vec<FieldError>) {
    match spec["scope"].as_str().unwrap_or_default() {
        "Namespaced" | "Cluster" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => {
            let supported = ["\"Cluster\"".to_string(), "\"Namespaced\"".to_string()];
            errors.push(FieldError::not_supported("spec.scope", format!("{other:?}"), &supported));
        }
    }
}
