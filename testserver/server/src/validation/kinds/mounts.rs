//! Mounts of volumes that other errors are about: for genuine servers there is no such volume.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Write, pod_spec::NOT_FOUND};
use crate::{
    schema::{ErrorList, FieldError},
    validation::values::{items, text},
};

/// Adds the mounts of volumes that the errors so far are about, and volumes with the name of one that no error is about.
pub(in crate::validation) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let at = match (write.endpoint.group(), write.endpoint.plural()) {
        ("", "pods") => "spec",
        ("", "podtemplates") => "template.spec",
        ("", "replicationcontrollers")
        | ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => "spec.template.spec",
        ("batch", "cronjobs") => "spec.jobTemplate.spec.template.spec",
        _ => return,
    };
    let spec = at.split('.').fold(write.object, |value, part| &value[part]);
    let refused = refused_volumes(spec, at, errors);
    if refused.is_empty() {
        return;
    }
    for list in ["containers", "initContainers"] {
        for (i, container) in items(spec, list) {
            for member in ["volumeMounts", "volumeDevices"] {
                for (j, item) in items(container, member) {
                    let (field, name) = (format!("{at}.{list}[{i}].{member}[{j}].name"), text(item, "name"));
                    let reported = |error: &FieldError| error.field == field && error.reason == NOT_FOUND;
                    if refused.contains(name) && !errors.iter().any(reported) {
                        errors.not_found(field, format_args!("{name:?}"));
                    }
                }
            }
        }
    }
}

/// The names that only volumes with errors have. Adds the volumes with the name of one without.
fn refused_volumes<'v>(spec: &'v Value, at: &str, errors: &mut ErrorList) -> BTreeSet<&'v str> {
    let (mut accepted, mut refused, mut repeated) = (BTreeSet::new(), BTreeSet::new(), ErrorList::default());
    for (i, volume) in items(spec, "volumes") {
        let (place, name) = (format!("{at}.volumes[{i}]"), text(volume, "name"));
        if accepted.contains(name) {
            repeated.repeated(format!("{place}.name"), name);
        } else if errors.iter().any(|error| error.field.starts_with(&place)) {
            refused.insert(name);
        } else {
            accepted.insert(name);
        }
    }
    errors.extend(repeated);
    refused.retain(|name| !accepted.contains(name));
    refused
}
