//! Behaviour of single built-in kinds that clients rely on.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::WritePart;
use crate::{
    object::meta,
    rbac,
    scheme::{Endpoint, autoscaler},
};

/// Whether `metadata.generation` counts changes of the spec. All custom resources have it.
pub(super) fn has_generation(endpoint: &Endpoint) -> bool {
    endpoint.resource.custom
        || match endpoint.group() {
            "" => matches!(endpoint.plural(), "pods" | "podtemplates" | "replicationcontrollers"),
            "apps" => endpoint.plural() != "controllerrevisions",
            "networking.k8s.io" => !matches!(endpoint.plural(), "ipaddresses" | "servicecidrs"),
            "resource.k8s.io" => !matches!(endpoint.plural(), "resourceclaims" | "resourceclaimtemplates"),
            "autoscaling"
            | "batch"
            | "policy"
            | "discovery.k8s.io"
            | "flowcontrol.apiserver.k8s.io"
            | "admissionregistration.k8s.io"
            | "apiextensions.k8s.io"
            | "scheduling.k8s.io" => true,
            _ => false,
        }
}

/// Keeps annotations that hold fields which this write does not change. `old` is null for a new object.
pub(super) fn keep_annotations(endpoint: &Endpoint, part: WritePart, old: &Value, new: &mut Value) {
    if !endpoint.resource.is("autoscaling", "horizontalpodautoscalers") || endpoint.version().name != "v1" {
        return;
    }
    let names = if part == WritePart::Main { autoscaler::OF_STATUS } else { autoscaler::OF_SPEC };
    for name in names {
        let before = old["metadata"]["annotations"].get(name);
        let now = new.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        match (before, now) {
            (Some(before), Some(now)) => drop(now.insert(name.into(), before.clone())),
            (Some(before), None) => meta::set(new, "annotations", json!({name: before})),
            (None, Some(now)) => drop(now.remove(name)),
            (None, None) => {}
        }
    }
}

/// Whether a PUT creates a missing object.
pub(crate) fn created_by_put(endpoint: &Endpoint) -> bool {
    matches!(
        (endpoint.group(), endpoint.plural()),
        ("", "endpoints" | "events" | "limitranges" | "services")
            | ("node.k8s.io", "runtimeclasses")
            | ("coordination.k8s.io", "leases")
            | ("events.k8s.io", "events")
            | ("rbac.authorization.k8s.io", _)
    )
}

/// Whether dependents outlive an owner of this kind, unless a deletion says otherwise.
pub(crate) fn orphans_dependents(endpoint: &Endpoint) -> bool {
    matches!((endpoint.group(), endpoint.plural()), ("", "replicationcontrollers") | ("batch", "jobs"))
}

/// Whether a PUT must have a resourceVersion. All custom resources do.
pub(crate) fn needs_version(endpoint: &Endpoint) -> bool {
    endpoint.resource.custom
        || matches!(
            (endpoint.group(), endpoint.plural()),
            ("coordination.k8s.io", "leases")
                | ("discovery.k8s.io", "endpointslices")
                | ("policy", "poddisruptionbudgets")
                | ("networking.k8s.io", "ingressclasses")
                | ("node.k8s.io", "runtimeclasses")
                | ("storage.k8s.io", "csidrivers" | "csinodes" | "volumeattachments")
                | ("apiextensions.k8s.io", "customresourcedefinitions")
                | ("admissionregistration.k8s.io" | "flowcontrol.apiserver.k8s.io", _)
        )
}

/// The metadata that writes of status and other parts change besides managed fields, as kubelets and controllers rely on.
pub(super) fn metadata_of_status(endpoint: &Endpoint) -> &'static [&'static str] {
    match (endpoint.group(), endpoint.plural()) {
        _ if endpoint.resource.custom => &[],
        ("", "pods") => &["labels", "annotations", "finalizers"],
        ("apps", "deployments") => &["annotations", "finalizers", "ownerReferences"],
        ("storage.k8s.io", "volumeattachments")
        | ("apiextensions.k8s.io", "customresourcedefinitions")
        | ("flowcontrol.apiserver.k8s.io" | "admissionregistration.k8s.io" | "resource.k8s.io", _) => &[],
        _ => &["labels", "annotations", "finalizers", "ownerReferences"],
    }
}

/// Whether writes of status change metadata.
pub(crate) fn status_has_metadata(endpoint: &Endpoint) -> bool {
    !metadata_of_status(endpoint).is_empty()
}

pub(super) fn prepare_create(endpoint: &Endpoint, object: &mut Value) {
    if endpoint.is_core("namespaces") {
        let name = meta::name(object).to_string();
        add_namespace_finalizer(object);
        object["status"] = json!({"phase": "Active"});
        label(object, "kubernetes.io/metadata.name", &name);
    } else if endpoint.is_core("pods") {
        object["status"] = json!({"phase": "Pending"});
    }
    prepare_any(endpoint, object);
}

pub(super) fn prepare_update(endpoint: &Endpoint, object: &mut Value) {
    if endpoint.is_core("namespaces") {
        let name = meta::name(object).to_string();
        label(object, "kubernetes.io/metadata.name", &name);
    }
    prepare_any(endpoint, object);
}

/// The finalizer of the namespace controller, after those that the client asks for.
fn add_namespace_finalizer(namespace: &mut Value) {
    let mut finalizers = namespace["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
    if !finalizers.iter().any(|finalizer| finalizer == "kubernetes") {
        finalizers.push("kubernetes".into());
    }
    namespace["spec"] = json!({"finalizers": finalizers});
}

fn prepare_any(endpoint: &Endpoint, object: &mut Value) {
    rbac::prepare(endpoint, object);
    if endpoint.is_core("secrets") {
        encode_strings(object);
        if object["type"].as_str().unwrap_or_default().is_empty() {
            object["type"] = "Opaque".into();
        }
    }
}

/// Encodes `stringData` of a secret into `data`.
fn encode_strings(secret: &mut Value) {
    let Some(map) = secret.as_object_mut() else { return };
    let Some(Value::Object(strings)) = map.remove("stringData") else { return };
    let data = map.entry("data").or_insert_with(|| json!({}));
    if data.is_null() {
        *data = json!({});
    }
    if let Some(data) = data.as_object_mut() {
        for (key, value) in &strings {
            data.insert(key.clone(), BASE64_STANDARD.encode(value.as_str().unwrap_or_default()).into());
        }
    }
}

fn label(object: &mut Value, key: &str, value: &str) {
    let Some(metadata) = meta::map_mut(object) else { return };
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(key.into(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_data_is_encoded_over_data() {
        let mut secret = json!({"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"b": "new"}});
        encode_strings(&mut secret);
        assert_eq!(secret, json!({"data": {"a": "eA==", "b": "bmV3"}}));
        let mut secret = json!({"stringData": {"b": "new"}, "data": null});
        encode_strings(&mut secret);
        assert_eq!(secret, json!({"data": {"b": "bmV3"}}));
    }
}
