//! Volumes: sources and references.

use serde_json::Value;

use super::{
    pods, resources,
    values::{invalid, is_set, items, text},
};
use crate::{object::names, schema::FieldError};

pub(super) fn secret_reference(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    // References of volumes for all pods name a namespace.
    if at.starts_with("spec.csi.") && !at.ends_with("nodeStageSecretRef") {
        for member in ["name", "namespace"] {
            if text(value, member).is_empty() {
                errors.push(FieldError::required(format!("{at}.{member}"), ""));
            }
        }
    }
}

/// Each source is one of several kinds.
pub(super) fn projected(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (i, source) in items(value, "sources") {
        let given =
            source.as_object().map_or(0, |source| source.values().filter(|value| is_set(value)).count());
        if given > 1 {
            errors.push(FieldError::forbidden(
                format!("{at}.sources[{i}]"),
                "may not specify more than 1 volume type per source",
            ));
        }
        let token = &source["serviceAccountToken"];
        if token.is_object() {
            if text(token, "path").is_empty() {
                errors.push(FieldError::required(format!("{at}.path"), ""));
            }
            if token["expirationSeconds"].as_i64().is_some_and(|seconds| seconds < 600) {
                let place = format!("{at}.sources[{i}].serviceAccountToken.expirationSeconds");
                invalid(
                    errors,
                    place,
                    &token["expirationSeconds"],
                    "may not specify a duration less than 10 minutes",
                );
            }
        }
    }
}

/// The files of a pod's own fields.
pub(super) fn downward(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (_, file) in items(value, "items") {
        let path = text(file, "path");
        let why = match path {
            "" => {
                errors.push(FieldError::required(format!("{at}.path"), ""));
                None
            }
            _ => names::relative_path(path),
        };
        if let Some(why) = why {
            invalid(errors, format!("{at}.path"), &file["path"], why);
        }
        match (is_set(&file["fieldRef"]), is_set(&file["resourceFieldRef"])) {
            (true, true) => {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(at, "\"resource\"", why));
            }
            (true, false) => {
                let place = format!("{at}.fieldRef.fieldPath");
                pods::field_path(text(&file["fieldRef"], "fieldPath"), FILES, place, errors);
            }
            (false, true) => {
                let place = format!("{at}.resourceFieldRef");
                if text(&file["resourceFieldRef"], "containerName").is_empty() {
                    errors.push(FieldError::required(format!("{place}.containerName"), ""));
                }
                pods::resource_field(&file["resourceFieldRef"], &place, errors);
            }
            (false, false) => {
                let why = "one of fieldRef and resourceFieldRef is required";
                errors.push(FieldError::required(at, why));
            }
        }
    }
}

/// The fields of pods that files can have.
const FILES: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

pub(super) fn persistent(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    resources::capacity(value, at, errors);
    classes(value, at, errors);
    // Of several sources only the first is looked at.
    let second = errors.iter().any(|error| error.field == format!("{at}.local"));
    if is_set(&value["local"]) && !second && value["nodeAffinity"].is_null() {
        errors
            .push(FieldError::required(format!("{at}.nodeAffinity"), "Local volume requires node affinity"));
    }
    if value["hostPath"]["path"] == "/" && value["persistentVolumeReclaimPolicy"] == "Recycle" {
        let why = "may not be 'recycle' for a hostPath mount of '/'";
        errors.push(FieldError::forbidden(format!("{at}.persistentVolumeReclaimPolicy"), why));
    }
}

pub(super) fn claim(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    classes(value, at, errors);
}

/// The names of the classes of a volume or claim.
fn classes(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for field in ["storageClassName", "volumeAttributesClassName"] {
        let why = Some(text(value, field)).filter(|name| !name.is_empty()).and_then(names::subdomain);
        if let Some(why) = why {
            invalid(errors, format!("{at}.{field}"), &value[field], &why);
        }
    }
}

pub(super) fn class(value: &Value, _: &str, errors: &mut Vec<FieldError>) {
    if value["parameters"].get("").is_some() {
        errors.push(FieldError::invalid("parameters", "\"\"", "field can not be empty."));
    }
    if !matches!(text(value, "reclaimPolicy"), "" | "Delete" | "Retain") {
        let known = ["\"Delete\"".into(), "\"Retain\"".into()];
        errors.push(FieldError::not_supported("reclaimPolicy", &value["reclaimPolicy"], &known));
    }
}

pub(super) fn attachment(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if is_set(&value["persistentVolumeName"]) && is_set(&value["inlineVolumeSpec"]) {
        errors
            .push(FieldError::forbidden(at, "must specify one of inlineVolumeSpec and persistentVolumeName"));
    }
}
