//! Validation of new pods, besides their specs.

use serde_json::Value;

use super::{Errors, items, text};
use crate::{schema::FieldError, strategy::label_keys};

pub(super) fn validate_new(pod: &Value, errors: &mut Errors) {
    let spec = &pod["spec"];
    label_keys::validate(pod, |error| errors.add(error));
    let mut forbid = |field: String, why: &str| errors.add(FieldError::forbidden(field, why));
    if items(spec, "ephemeralContainers").next().is_some() {
        forbid("spec.ephemeralContainers".into(), "cannot be set on create");
    }
    if !text(&spec["nodeName"]).is_empty() && items(spec, "schedulingGates").next().is_some() {
        forbid("spec.nodeName".into(), "cannot be set until all schedulingGates have been cleared");
    }
    if !text(&spec["serviceAccountName"]).is_empty() {
        return;
    }
    for (i, volume) in items(spec, "volumes") {
        for (j, source) in items(&volume["projected"], "sources") {
            if source["serviceAccountToken"].is_object() {
                let at = format!("spec.volumes[{i}].projected.sources[{j}].serviceAccountToken");
                forbid(at, "must not be specified when serviceAccountName is not set");
            }
        }
    }
}
