//! The list of versions.

use serde_json::{Value, json};

use crate::{object::names, schema::ErrorList};

/// The most characters of a `deprecationWarning`.
const MAX_WARNING: usize = 256;

pub(super) fn validate(spec: &Value, errors: &mut ErrorList) {
    let versions = list(&spec["versions"]);
    for (i, version) in versions.iter().enumerate() {
        let name = version["name"].as_str().unwrap_or_default();
        if let Some(wrong) = names::service_name(name) {
            errors.invalid(format!("spec.versions[{i}].name"), format!("{name:?}"), &wrong);
            if i == 0 && !name.is_empty() {
                errors.invalid("spec.version", format!("{name:?}"), &wrong);
            }
        }
        if versions[..i].iter().any(|other| other["name"] == version["name"]) {
            errors.invalid("spec.versions", printed(spec), "must contain unique version names");
        }
        if !version["schema"]["openAPIV3Schema"].is_object() {
            errors.required(format!("spec.versions[{i}].schema.openAPIV3Schema"), "");
        }
        warning(&format!("spec.versions[{i}].deprecationWarning"), version, errors);
    }
    storage(spec, errors);
}

/// Exactly one version is stored.
fn storage(spec: &Value, errors: &mut ErrorList) {
    let stored: Vec<&Value> =
        list(&spec["versions"]).iter().filter(|v| v["storage"] == true).map(|v| &v["name"]).collect();
    if stored.len() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.invalid("spec.versions", printed(spec), detail);
    }
    let at = "status.storedVersions";
    match stored.as_slice() {
        [] => errors.invalid(at, "null", "must have at least one stored version"),
        [first, .., last] if first != last => {
            let detail = format!("must have the storage version {}", last.as_str().unwrap_or_default());
            errors.invalid(at, json!([first]), &detail);
        }
        _ => {}
    }
}

fn warning(at: &str, version: &Value, errors: &mut ErrorList) {
    let Some(text) = version["deprecationWarning"].as_str() else { return };
    let printed = Value::from(text).to_string();
    let mut wrong = |detail: &str| errors.invalid(at, &printed, detail);
    if version["deprecated"] != true {
        wrong("can only be set for deprecated versions");
    }
    if text.is_empty() {
        wrong("must not be an empty string");
    }
    if text.len() > MAX_WARNING {
        wrong(&format!("must be <= {MAX_WARNING} characters long"));
    }
    if let Some((i, _)) = text.char_indices().find(|(_, c)| c.is_control()) {
        let detail = "must only contain printable UTF-8 characters; non-printable character found at index";
        wrong(&format!("{detail} {i}"));
    }
}

/// Paths of a field of versions and the versions that have it: the genuine server moves what all versions share to `spec`.
pub(super) fn places<'s>(spec: &'s Value, field: &str) -> Vec<(String, &'s Value)> {
    let versions = list(&spec["versions"]);
    match common(spec, field) {
        Some(_) => versions.first().map(|version| (format!("spec.{field}"), version)).into_iter().collect(),
        None => {
            let place = |(i, version)| (format!("spec.versions[{i}].{field}"), version);
            versions.iter().enumerate().map(place).collect()
        }
    }
}

/// The value of a field, if it is the same in all versions.
pub(super) fn common<'s>(spec: &'s Value, field: &str) -> Option<&'s Value> {
    let (first, others) = list(&spec["versions"]).split_first()?;
    others.iter().all(|version| version[field] == first[field]).then(|| &first[field])
}

/// The path of the schema of version `i` in errors.
pub(crate) fn schema_path(spec: &Value, i: usize) -> String {
    if common(spec, "schema").is_some() {
        "spec.validation".into()
    } else {
        format!("spec.versions[{i}].schema")
    }
}

/// The versions as the genuine server prints them.
fn printed(spec: &Value) -> String {
    let own = |version: &Value, field: &str| match common(spec, field) {
        Some(_) => Value::Null,
        None => version[field].clone(),
    };
    let version = |version: &Value| {
        let flag = |name: &str| version[name] == true;
        let members = [
            ("Name", version["name"].clone()),
            ("Served", flag("served").into()),
            ("Storage", flag("storage").into()),
            ("Deprecated", flag("deprecated").into()),
            ("DeprecationWarning", version["deprecationWarning"].clone()),
            ("Schema", own(version, "schema")),
            ("Subresources", own(version, "subresources")),
            ("AdditionalPrinterColumns", own(version, "additionalPrinterColumns")),
            ("SelectableFields", own(version, "selectableFields")),
        ];
        let members = members.map(|(name, value)| format!("\"{name}\":{value}"));
        format!("{{{}}}", members.join(","))
    };
    match spec["versions"].as_array() {
        None => "null".into(),
        Some(versions) => format!("[{}]", versions.iter().map(version).collect::<Vec<_>>().join(",")),
    }
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
