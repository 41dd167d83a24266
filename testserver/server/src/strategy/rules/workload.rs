//! Validation of kinds with a pod template.

use serde_json::Value;

use super::{Errors, template, text};
use crate::schema::FieldError;

const TEMPLATE: &str = "spec.template.spec";

pub(super) fn validate(plural: &str, spec: &Value, errors: &mut Errors) {
    errors.count("spec.replicas", &spec["replicas"]);
    errors.count("spec.minReadySeconds", &spec["minReadySeconds"]);
    if let Some(error) = selected(spec) {
        errors.add(error);
    }
    // Genuine servers do not validate the rest of the template of StatefulSets.
    if plural != "statefulsets" {
        template::validate(&spec["template"]["spec"], TEMPLATE, errors);
    }
    runs_forever(plural, spec, errors);
    errors.count("spec.revisionHistoryLimit", &spec["revisionHistoryLimit"]);
}

/// `at` is the path of the spec of the Job.
pub(super) fn job(spec: &Value, at: &str, errors: &mut Errors) {
    for field in
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]
    {
        errors.count(&format!("{at}.{field}"), &spec[field]);
    }
    let place = format!("{at}.template.spec");
    template::validate(&spec["template"]["spec"], &place, errors);
    if matches!(text(&spec["template"]["spec"]["restartPolicy"]), "" | "Always") {
        errors.required(format!("{place}.restartPolicy"), "valid values: \"OnFailure\", \"Never\"");
    }
}

fn runs_forever(plural: &str, spec: &Value, errors: &mut Errors) {
    let policy = text(&spec["template"]["spec"]["restartPolicy"]);
    if !matches!(policy, "" | "Always") {
        let at = format!("{TEMPLATE}.restartPolicy");
        errors.add(FieldError::not_supported(at, format!("{policy:?}"), &["\"Always\"".into()]));
    }
    if !spec["template"]["spec"]["activeDeadlineSeconds"].is_null() {
        let kind = match plural {
            "statefulsets" => "StatefulSet",
            "daemonsets" => "DaemonSet",
            "replicationcontrollers" => "ReplicationController",
            _ => "ReplicaSet",
        };
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.add(FieldError::forbidden(format!("{TEMPLATE}.activeDeadlineSeconds"), &why));
    }
}

/// The selector must match the labels of the template.
fn selected(spec: &Value) -> Option<FieldError> {
    let labels = &spec["template"]["metadata"]["labels"];
    let selector = &spec["selector"];
    // The selector of a ReplicationController is a plain map.
    let wanted = selector["matchLabels"].as_object().or_else(|| {
        let plain = selector["matchExpressions"].is_null() && selector["matchLabels"].is_null();
        selector.as_object().filter(|_| plain)
    });
    let fits = wanted.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    if fits && selector.is_object() {
        return None;
    }
    let why = "`selector` does not match template `labels`";
    Some(FieldError::invalid("spec.template.metadata.labels", labels, why))
}
