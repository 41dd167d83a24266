//! Defaults of HorizontalPodAutoscalers.

use serde_json::{Value, json};

use super::members::{fill, set};
use crate::scheme::{Endpoint, autoscaler};

pub(super) fn default(endpoint: &Endpoint, object: &mut Value) {
    if endpoint.version().name == "v1" {
        old(object);
        return;
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !autoscaler::ANNOTATIONS.contains(&name.as_str()));
    }
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    if spec["metrics"].as_array().is_none_or(Vec::is_empty) {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        spec["metrics"] = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
    }
    if let Some(behavior) = spec.get_mut("behavior").filter(|behavior| behavior.is_object()) {
        directions(behavior);
    }
}

fn old(object: &mut Value) {
    let has_metrics = autoscaler::has_metrics(object);
    if let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object() && !has_metrics) {
        fill(spec, "targetCPUUtilizationPercentage", 80);
    }
}

fn directions(behavior: &mut Value) {
    let policy = |kind: &str, value: u8| json!({"type": kind, "value": value, "periodSeconds": 15});
    let doubled = policy("Percent", 100);
    fill(behavior, "scaleUp", json!({}));
    fill(&mut behavior["scaleUp"], "stabilizationWindowSeconds", 0);
    for (direction, policies) in
        [("scaleUp", json!([policy("Pods", 4), doubled])), ("scaleDown", json!([doubled]))]
    {
        fill(behavior, direction, json!({}));
        set(&mut behavior[direction], "selectPolicy", "Max");
        fill(&mut behavior[direction], "policies", policies);
    }
}
