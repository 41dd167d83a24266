//! Volumes: sources and references.

use serde_json::Value;

use super::{
    resources,
    values::{invalid, is_set, text},
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

/// The names of the classes of a volume or claim.
pub(super) fn classes(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
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
