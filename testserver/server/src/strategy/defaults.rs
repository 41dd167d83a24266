//! Defaults that depend on other fields of the object. Constant defaults are in the schema.

mod autoscaler;
mod claim;
mod devices;
mod members;

use serde_json::{Value, json};

use crate::scheme::Endpoint;
use members::{each, fill, items, set};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Sets defaults of a built-in kind.
pub(crate) fn default(endpoint: &Endpoint, object: &mut Value) {
    if endpoint.resource.custom {
        return;
    }
    match (endpoint.group(), endpoint.plural()) {
        ("", "pods") => pod(object),
        ("", "namespaces") => each(object, "/status", |status| fill(status, "phase", "Active")),
        ("", "services") => service(object),
        ("", "nodes") => node(object),
        ("", "limitranges") => limit_range(object),
        ("", "serviceaccounts") => items(object, "secrets").for_each(only_name),
        ("", "persistentvolumeclaims") => each(object, "/spec", claim::default),
        ("", "podtemplates") | ("apps", "replicasets") => template(object),
        ("", "replicationcontrollers") => {
            template(object);
            labels_of_template(object);
        }
        ("apps", "deployments" | "statefulsets" | "daemonsets") => {
            template(object);
            strategy(endpoint.plural(), object);
            if endpoint.plural() == "statefulsets" {
                claim_templates(object);
            }
        }
        ("batch", "jobs") => job(object),
        ("batch", "cronjobs") => each(object, "/spec/jobTemplate/spec/template/spec", containers),
        ("autoscaling", "horizontalpodautoscalers") => autoscaler::default(endpoint, object),
        ("networking.k8s.io", "networkpolicies") => each(object, "/spec", policy_types),
        ("scheduling.k8s.io", "priorityclasses") => set(object, "preemptionPolicy", "PreemptLowerPriority"),
        ("resource.k8s.io", "resourceclaims") => each(object, "/spec/devices", devices::counts),
        ("resource.k8s.io", "resourceclaimtemplates") => each(object, "/spec/spec/devices", devices::counts),
        ("storage.k8s.io", "csidrivers") => each(object, "/spec", driver),
        (RBAC, "rolebindings" | "clusterrolebindings") => binding(object),
        _ => {}
    }
}

fn pod(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    containers(spec);
    fill(spec, "enableServiceLinks", true);
    if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        spec["terminationGracePeriodSeconds"] = 1.into();
    }
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            container.get_mut("resources").map(requests);
        }
    }
}

/// Requests default to limits.
fn requests(resources: &mut Value) {
    let Some(limits) = resources["limits"].as_object().cloned() else { return };
    let Some(resources) = resources.as_object_mut() else { return };
    let requests = resources.entry("requests").or_insert_with(|| json!({}));
    for (name, limit) in limits {
        fill(requests, &name, limit);
    }
}

fn template(object: &mut Value) {
    for pointer in ["/spec/template/spec", "/template/spec"] {
        each(object, pointer, containers);
    }
}

/// Sets the update strategy of a workload.
fn strategy(plural: &str, object: &mut Value) {
    let (field, details) = match plural {
        "deployments" => ("strategy", json!({"maxSurge": "25%", "maxUnavailable": "25%"})),
        "daemonsets" => ("updateStrategy", json!({"maxSurge": 0, "maxUnavailable": 1})),
        _ => ("updateStrategy", json!({"maxUnavailable": 1, "partition": 0})),
    };
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    fill(spec, field, json!({}));
    // The details of a StatefulSet that names its strategy are its own.
    let named = plural == "statefulsets" && spec[field]["type"] == "RollingUpdate";
    fill(&mut spec[field], "type", "RollingUpdate");
    if spec[field]["type"] != "RollingUpdate" || named && spec[field]["rollingUpdate"].is_null() {
        return;
    }
    fill(&mut spec[field], "rollingUpdate", json!({}));
    for (name, value) in details.as_object().into_iter().flatten() {
        fill(&mut spec[field]["rollingUpdate"], name, value.clone());
    }
}

/// Labels and selector of a ReplicationController default to the labels of its template.
fn labels_of_template(controller: &mut Value) {
    let labels = controller["spec"]["template"]["metadata"]["labels"].clone();
    if labels.as_object().is_none_or(serde_json::Map::is_empty) {
        return;
    }
    let empty = |value: &Value| value.as_object().is_none_or(serde_json::Map::is_empty);
    for (pointer, field) in [("/spec", "selector"), ("/metadata", "labels")] {
        if let Some(map) = controller.pointer_mut(pointer).and_then(Value::as_object_mut)
            && map.get(field).is_none_or(empty)
        {
            map.insert(field.into(), labels.clone());
        }
    }
}

/// `podCIDR` is the first of `podCIDRs`, and wins over others.
fn node(node: &mut Value) {
    let capacity = node["status"]["capacity"].clone();
    if let Some(status) = node.get_mut("status").filter(|_| capacity.is_object()) {
        fill(status, "allocatable", capacity);
    }
    let Some(spec) = node.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    let first = spec["podCIDRs"][0].clone();
    match spec["podCIDR"].as_str().unwrap_or_default() {
        "" if first.is_string() => spec["podCIDR"] = first,
        "" => {}
        range if first == range => {}
        range => spec["podCIDRs"] = json!([range]),
    }
    // Kubelets do not read it any more.
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("configSource");
    }
}

/// The limits of containers default to the largest ones, their requests to the limits, else to the smallest ones.
fn limit_range(range: &mut Value) {
    let Some(spec) = range.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    for item in items(spec, "limits").filter(|item| item["type"] == "Container") {
        for (list, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
            for (name, amount) in item[from].as_object().cloned().into_iter().flatten() {
                if item[list].is_null() {
                    item[list] = json!({});
                }
                fill(&mut item[list], &name, amount);
            }
        }
    }
}

/// References to secrets have a name, whatever else the client says.
fn only_name(reference: &mut Value) {
    if let Some(reference) = reference.as_object_mut() {
        reference.retain(|member, _| member == "name");
    }
}

fn driver(spec: &mut Value) {
    fill(spec, "attachRequired", true);
    set(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    for off in [
        "podInfoOnMount",
        "preventPodSchedulingIfMissing",
        "requiresRepublish",
        "seLinuxMount",
        "storageCapacity",
    ] {
        fill(spec, off, false);
    }
    fill(spec, "volumeLifecycleModes", json!(["Persistent"]));
}

fn containers(spec: &mut Value) {
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in items(spec, list) {
            let policy = pull_policy(container["image"].as_str().unwrap_or_default());
            fill(container, "imagePullPolicy", policy);
            for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
                each(container, &format!("/{probe}/grpc"), |grpc| set(grpc, "service", ""));
            }
        }
    }
    for volume in items(spec, "volumes") {
        let sources = volume.as_object().is_some_and(|volume| volume.keys().any(|key| key != "name"));
        if !sources {
            fill(volume, "emptyDir", json!({}));
        }
        if let Some(image) = volume.get_mut("image").filter(|image| image.is_object()) {
            let policy = pull_policy(image["reference"].as_str().unwrap_or_default());
            fill(image, "pullPolicy", policy);
        }
    }
    // The account has an old name and a new one, which counts.
    let named =
        |spec: &Value, field: &str| spec[field].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    if let Some(account) = named(spec, "serviceAccountName").or_else(|| named(spec, "serviceAccount")) {
        spec["serviceAccountName"] = account.as_str().into();
        spec["serviceAccount"] = account.into();
    }
}

/// Claim templates are objects of their own.
fn claim_templates(set: &mut Value) {
    let Some(spec) = set.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    fill(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
    for moment in ["whenDeleted", "whenScaled"] {
        fill(&mut spec["persistentVolumeClaimRetentionPolicy"], moment, "Retain");
    }
    for claim in items(spec, "volumeClaimTemplates") {
        fill(claim, "apiVersion", "v1");
        fill(claim, "kind", "PersistentVolumeClaim");
        fill(claim, "status", json!({}));
        fill(&mut claim["status"], "phase", "Pending");
    }
}

/// Images without a tag, or with `latest`, are always pulled.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once(':') {
        _ if name.contains('@') || !is_reference(image) => "IfNotPresent",
        Some((_, tag)) if tag != "latest" => "IfNotPresent",
        _ => "Always",
    }
}

/// Whether the text can be the name of an image.
fn is_reference(image: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let path =
        image.rsplit_once('/').map_or(image, |(_, name)| name).split([':', '@']).next().unwrap_or_default();
    image.chars().all(inner) && !path.chars().any(|c| c.is_ascii_uppercase()) && image.len() <= 255
}

fn service(service: &mut Value) {
    let Some(spec) = service.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    let kind = spec["type"].as_str().unwrap_or("ClusterIP").to_owned();
    for port in items(spec, "ports") {
        let same = port["port"].clone();
        // Go sends its zero value.
        if port["targetPort"] == 0 {
            port["targetPort"] = Value::Null;
        }
        if kind != "ExternalName" || !same.is_null() {
            fill(port, "targetPort", same);
        }
    }
    if spec["sessionAffinity"] == "ClientIP" {
        fill(spec, "sessionAffinityConfig", json!({}));
        fill(&mut spec["sessionAffinityConfig"], "clientIP", json!({}));
        fill(&mut spec["sessionAffinityConfig"]["clientIP"], "timeoutSeconds", 10_800);
    } else if let Some(spec) = spec.as_object_mut() {
        spec.remove("sessionAffinityConfig");
    }
    match kind.as_str() {
        "ExternalName" => {
            let is_policy =
                matches!(spec["internalTrafficPolicy"].as_str(), None | Some("Cluster" | "Local"));
            if let Some(spec) = spec.as_object_mut().filter(|_| is_policy) {
                spec.remove("internalTrafficPolicy");
            }
        }
        "NodePort" => fill(spec, "externalTrafficPolicy", "Cluster"),
        "LoadBalancer" => {
            fill(spec, "externalTrafficPolicy", "Cluster");
            fill(spec, "allocateLoadBalancerNodePorts", true);
        }
        "ClusterIP" if spec["externalIPs"].as_array().is_some_and(|list| !list.is_empty()) => {
            fill(spec, "externalTrafficPolicy", "Cluster");
        }
        _ => {}
    }
    if kind == "LoadBalancer" {
        each(service, "/status/loadBalancer", |balancer| {
            let reached = items(balancer, "ingress").filter(|ingress| ingress["ip"].is_string());
            reached.for_each(|ingress| fill(ingress, "ipMode", "VIP"));
        });
    }
}

fn job(job: &mut Value) {
    each(job, "/spec/template/spec", containers);
    let Some(spec) = job.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        spec["completions"] = 1.into();
    }
    let failures = if spec["backoffLimitPerIndex"].is_null() { 6 } else { i32::MAX };
    fill(spec, "backoffLimit", failures);
    // Jobs of CronJobs get these when they are created.
    set(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    fill(spec, "parallelism", 1);
    // Failures of an index have a limit of their own.
    fill(spec, "backoffLimit", if spec["backoffLimitPerIndex"].is_null() { 6 } else { i32::MAX });
    fill(spec, "manualSelector", false);
    let replaced = if spec["podFailurePolicy"].is_null() { "TerminatingOrFailed" } else { "Failed" };
    set(spec, "podReplacementPolicy", replaced);
}

fn policy_types(spec: &mut Value) {
    let both = spec["egress"].as_array().is_some_and(|rules| !rules.is_empty());
    if spec["policyTypes"].as_array().is_none_or(Vec::is_empty) {
        spec["policyTypes"] = if both { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    }
}

fn binding(binding: &mut Value) {
    fill(binding, "roleRef", json!({}));
    each(binding, "/roleRef", |role| fill(role, "apiGroup", RBAC));
    for subject in items(binding, "subjects") {
        if matches!(subject["kind"].as_str(), Some("User" | "Group")) {
            fill(subject, "apiGroup", RBAC);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_decides_when_an_image_is_pulled() {
        for (image, policy) in [
            ("i", "Always"),
            ("i:latest", "Always"),
            ("i:1", "IfNotPresent"),
            ("host:5000/i", "Always"),
            ("host:5000/i:1", "IfNotPresent"),
            ("i@sha256:abc", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }

    #[test]
    fn the_zero_values_of_go_are_missing_values() {
        for zero in [json!(0), json!(""), json!(null)] {
            let mut object = json!({"spec": {"ports": [{"port": 80, "targetPort": zero}]}});
            service(&mut object);
            assert_eq!(object["spec"]["ports"][0]["targetPort"], 80);
        }
    }

    #[test]
    fn set_values_are_kept_and_odd_input_does_not_panic() {
        let mut object = json!({"spec": {"ports": [{"port": 80, "targetPort": "http"}, 5, null], "type": "NodePort",
            "externalTrafficPolicy": "Local"}});
        let before = object.clone();
        service(&mut object);
        assert_eq!(object, before);
        for odd in
            [json!(null), json!([]), json!({"spec": []}), json!({"spec": {"containers": {}, "template": 5}})]
        {
            for default in
                [pod, service, template, job, binding, node, labels_of_template, |o: &mut Value| {
                    strategy("deployments", o)
                }]
            {
                default(&mut odd.clone());
            }
        }
    }
}
