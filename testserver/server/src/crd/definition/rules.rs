//! Validates a definition and its changes, part by part.

use serde_json::Value;

use super::{columns, conversion, group, names, selectable, subresources, versions};
use crate::{
    object::meta,
    schema::{ErrorList, Schema},
};

/// Validates a completed CRD and its changes. `validation::immutable` has the fields that cannot change.
pub(crate) fn validate(crd: &Value, old: Option<&Value>) -> ErrorList {
    let spec = &crd["spec"];
    let mut errors = ErrorList::default();
    name(crd, &mut errors);
    group::validate(crd, &mut errors);
    scope(spec, &mut errors);
    names::validate(&spec["names"], &mut errors);
    if spec["preserveUnknownFields"] == true {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.invalid("spec.preserveUnknownFields", "true", detail);
    }
    versions::validate(spec, &mut errors);
    for (place, version) in versions::places(spec, "additionalPrinterColumns") {
        columns::validate(&place, &version["additionalPrinterColumns"], &mut errors);
    }
    for (place, version) in versions::places(spec, "subresources") {
        subresources::validate(&place, &version["subresources"], &mut errors);
    }
    selectable::validate(spec, &mut errors);
    conversion::validate(&spec["conversion"], &mut errors);
    if let Some(old) = old {
        changes(old, crd, &mut errors);
    }
    schemas(spec, &mut errors);
    errors
}

fn changes(old: &Value, new: &Value, errors: &mut ErrorList) {
    conversion::validate_update(&old["spec"]["conversion"], &new["spec"]["conversion"], errors);
    for stored in versions::list(&old["status"]["storedVersions"]) {
        if !versions::list(&new["spec"]["versions"]).iter().any(|version| version["name"] == *stored) {
            let detail = "missing from spec.versions; it was previously a storage version, and must remain in \
                spec.versions until a storage migration ensures no data remains persisted in it and removes it from \
                status.storedVersions";
            errors.invalid("status.storedVersions[0]", stored, detail);
        }
    }
}

/// The schema of every version is structural. One that all versions share is checked once, a missing one not at all.
fn schemas(spec: &Value, errors: &mut ErrorList) {
    let mut seen = Vec::new();
    for (i, version) in versions::list(&spec["versions"]).iter().enumerate() {
        let (doc, place) = (&version["schema"]["openAPIV3Schema"], versions::schema_path(spec, i));
        if doc.is_object() && !seen.contains(&place) {
            errors.extend(Schema::from_openapi(&place, doc).err().unwrap_or_default());
            seen.push(place);
        }
    }
}

fn name(crd: &Value, errors: &mut ErrorList) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (spec, name) = (&crd["spec"], meta::name(crd));
    if name != format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"])) {
        errors.invalid("metadata.name", format!("{name:?}"), "must be spec.names.plural+\".\"+spec.group");
    }
}

fn scope(spec: &Value, errors: &mut ErrorList) {
    match spec["scope"].as_str().unwrap_or_default() {
        "Namespaced" | "Cluster" => {}
        "" => errors.required("spec.scope", ""),
        other => errors.not_supported("spec.scope", format!("{other:?}"), &["Cluster", "Namespaced"]),
    }
}
