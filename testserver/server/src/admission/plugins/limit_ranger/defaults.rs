//! Completes the requests and limits of a pod.

use serde_json::{Map, Value, json};

use crate::object::meta;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Sets requests and limits that the containers of a pod leave out, and says so in an annotation.
pub(super) fn complete(range: &Value, pod: &mut Value) {
    let (requests, limits) = (defaults(range, "defaultRequest"), defaults(range, "default"));
    let mut set = Vec::new();
    for (list, kind) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter(|container| container.is_object()) {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            for (member, what, defaults) in [("requests", "request", &requests), ("limits", "limit", &limits)]
            {
                let names = fill(container, member, defaults);
                if !names.is_empty() {
                    set.push(format!("{} {what} for {kind} {name}", names.join(", ")));
                }
            }
        }
    }
    if set.is_empty() {
        return;
    }
    let text = format!("LimitRanger plugin set: {}", set.join("; "));
    if let Some(metadata) = meta::map_mut(pod) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if annotations.is_null() {
            *annotations = json!({});
        }
        annotations[ANNOTATION] = text.into();
    }
}

/// The defaults of containers by resource, of all items of a LimitRange.
fn defaults(range: &Value, member: &str) -> Map<String, Value> {
    let items = range["spec"]["limits"].as_array().into_iter().flatten();
    let of_containers = items.filter(|item| item["type"] == "Container");
    of_containers.filter_map(|item| item[member].as_object().cloned()).flatten().collect()
}

/// Sets what is missing. Returns the names of the resources that were set, sorted.
fn fill(container: &mut Value, member: &str, defaults: &Map<String, Value>) -> Vec<String> {
    let missing: Vec<String> = defaults
        .keys()
        .filter(|name| container["resources"][member][name.as_str()].is_null())
        .cloned()
        .collect();
    for name in &missing {
        container["resources"][member][name] = defaults[name].clone();
    }
    missing
}
