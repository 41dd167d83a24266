//! Rules of built-in kinds that tie fields together, in the words of the genuine server.

use serde_json::Value;

use crate::{registry::Endpoint, schema::FieldError};

/// What a built-in kind may not be, besides what its schema says.
pub(crate) fn validate(endpoint: &Endpoint, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
    match (endpoint.group(), endpoint.plural()) {
        ("", "pods") if empty(&object["spec"]["containers"]) => {
            errors.push(FieldError::required("spec.containers", ""));
        }
        ("", "services") => {
            let spec = &object["spec"];
            if spec["type"] != "ExternalName" && spec["clusterIP"] != "None" && empty(&spec["ports"]) {
                errors.push(FieldError::required("spec.ports", ""));
            }
        }
        ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets") => {
            errors.extend(selected(&object["spec"]));
        }
        ("batch", "jobs") => {
            let policy = object["spec"]["template"]["spec"]["restartPolicy"].as_str().unwrap_or_default();
            if policy == "Always" || policy.is_empty() {
                let at = "spec.template.spec.restartPolicy";
                errors.push(FieldError::required(at, "valid values: \"OnFailure\", \"Never\""));
            }
        }
        _ => {}
    }
    errors
}

/// A workload selects the pods that it makes.
fn selected(spec: &Value) -> Option<FieldError> {
    let labels = &spec["template"]["metadata"]["labels"];
    let wanted = spec["selector"]["matchLabels"].as_object();
    let fits = wanted.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    if fits && spec["selector"].is_object() {
        return None;
    }
    let shown: Vec<String> =
        labels.as_object().into_iter().flatten().map(|(key, value)| format!("{key:?}:{value}")).collect();
    let shown = format!("map[string]string{{{}}}", shown.join(", "));
    let why = "`selector` does not match template `labels`";
    Some(FieldError::invalid("spec.template.metadata.labels", shown, why))
}
