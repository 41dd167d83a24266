//! Volumes of pods: their sources.

use serde_json::Value;

use super::{
    pods,
    values::{invalid, is_set, items, text},
};
use crate::schema::FieldError;

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
            _ if path.starts_with('/') => Some("must be a relative path"),
            _ if path.split('/').any(|part| part == "..") => Some("must not contain '..'"),
            _ => None,
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
