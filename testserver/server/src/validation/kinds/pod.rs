//! Pods and templates of pods: their specs, and what a new pod cannot have.

use serde_json::Value;

use super::{Write, pod_spec};
use crate::{
    schema::ErrorList,
    strategy,
    validation::values::{items, text},
};

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    spec_and_names(write.spec(), "spec", errors);
}

pub(super) fn validate_template(write: &Write<'_>, errors: &mut ErrorList) {
    spec_and_names(&write.object["template"]["spec"], "template.spec", errors);
}

/// `at` is the path of the spec.
pub(super) fn spec_and_names(spec: &Value, at: &str, errors: &mut ErrorList) {
    pod_spec::validate(spec, at, errors);
    pod_spec::hostnames(spec, at, errors);
}

pub(super) fn validate_new(write: &Write<'_>, errors: &mut ErrorList) {
    if write.old.is_some() {
        return;
    }
    let spec = write.spec();
    strategy::validate_label_keys(write.object, errors);
    let mut forbid = |field: String, why: &str| errors.forbidden(field, why);
    if items(spec, "ephemeralContainers").next().is_some() {
        forbid("spec.ephemeralContainers".into(), "cannot be set on create");
    }
    if !text(spec, "nodeName").is_empty() && items(spec, "schedulingGates").next().is_some() {
        forbid("spec.nodeName".into(), "cannot be set until all schedulingGates have been cleared");
    }
    if !text(spec, "serviceAccountName").is_empty() {
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
