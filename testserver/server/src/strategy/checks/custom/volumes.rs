//! Volumes: sources and references.

use serde_json::Value;

use super::values::{invalid, is_set, items, text};
use crate::schema::FieldError;

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

pub(super) fn attachment(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if is_set(&value["persistentVolumeName"]) && is_set(&value["inlineVolumeSpec"]) {
        errors
            .push(FieldError::forbidden(at, "must specify one of inlineVolumeSpec and persistentVolumeName"));
    }
}
