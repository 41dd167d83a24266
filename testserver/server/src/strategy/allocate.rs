//! Values that the server allocates for new objects of built-in kinds, and their first status.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::label_keys;
use crate::{
    object::{meta, quantity::Quantity},
    scheme::Endpoint,
};

/// Finalizers that protect claims, volumes and classes of attributes in use.
pub(crate) const CLAIM_IN_USE: &str = "kubernetes.io/pvc-protection";
pub(crate) const VOLUME_IN_USE: &str = "kubernetes.io/pv-protection";
pub(crate) const CLASS_IN_USE: &str = "kubernetes.io/vac-protection";
/// The annotation of a DaemonSet that counts its templates.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Completes a new object whose uid is set.
pub(super) fn create(endpoint: &Endpoint, object: &mut Value) {
    match (endpoint.group(), endpoint.plural()) {
        ("", "pods") => pod(object),
        ("", "services") => {
            families_and_node_ports(object);
            object["status"] = json!({"loadBalancer": {}});
        }
        ("", "persistentvolumeclaims") => add_protection_finalizer(object, CLAIM_IN_USE),
        ("", "persistentvolumes") => {
            add_protection_finalizer(object, VOLUME_IN_USE);
            object["status"]["lastPhaseTransitionTime"] = object["metadata"]["creationTimestamp"].clone();
        }
        ("storage.k8s.io", "volumeattributesclasses") => hold(object, CLASS_IN_USE),
        ("batch", "jobs") => job(object),
        ("", "replicationcontrollers") | ("apps", "replicasets") => {
            object["status"] = json!({"replicas": 0});
        }
        ("apps", "statefulsets") => object["status"] = json!({"replicas": 0, "availableReplicas": 0}),
        ("apps", "daemonsets") => {
            annotate(object, TEMPLATE_GENERATION, "1");
            object["status"] = json!({"currentNumberScheduled": 0, "numberMisscheduled": 0,
                "desiredNumberScheduled": 0, "numberReady": 0});
        }
        ("networking.k8s.io", "ingresses") => object["status"] = json!({"loadBalancer": {}}),
        _ => {}
    }
}

/// Keeps allocated values that an update omits.
pub(super) fn update(endpoint: &Endpoint, old: &Value, new: &mut Value) {
    if endpoint.is_core("pods") && new["spec"].is_object() {
        for field in ["priority", "preemptionPolicy"] {
            if new["spec"][field].is_null() {
                new["spec"][field] = old["spec"][field].clone();
            }
        }
        return;
    }
    if !endpoint.is_core("services") || !new["spec"].is_object() {
        return;
    }
    leave(&old["spec"], &mut new["spec"]);
    if new["spec"]["type"] == "ExternalName" {
        return;
    }
    if old["spec"]["type"] == "ExternalName" {
        return families_and_node_ports(new);
    }
    let is_empty = |value: &Value| match value {
        Value::Array(list) => list.is_empty(),
        value => value.is_null() || value == "",
    };
    let same_address =
        is_empty(&new["spec"]["clusterIP"]) || new["spec"]["clusterIP"] == old["spec"]["clusterIP"];
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let is_address = field.starts_with("cluster");
        if is_empty(&new["spec"][field]) && (same_address || !is_address) {
            new["spec"][field] = old["spec"][field].clone();
        }
    }
    let (before, now) = (&old["spec"], &mut new["spec"]);
    if !same_address && now["clusterIPs"] == before["clusterIPs"] {
        // A client that changes only `clusterIP` means both.
        now["clusterIPs"] = json!([now["clusterIP"]]);
    }
    let (unset, same) =
        (now["healthCheckNodePort"].is_null(), now["healthCheckNodePort"] == before["healthCheckNodePort"]);
    if has_health_check(now) && unset && has_health_check(before) {
        now["healthCheckNodePort"] = before["healthCheckNodePort"].clone();
    } else if !has_health_check(now)
        && same
        && let Some(now) = now.as_object_mut()
    {
        now.remove("healthCheckNodePort");
    }
    if !matches!(new["spec"]["type"].as_str(), Some("NodePort" | "LoadBalancer")) {
        return;
    }
    let former = old["spec"]["ports"].as_array().cloned().unwrap_or_default();
    for port in new.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let same =
            former.iter().find(|old| old["port"] == port["port"] && old["protocol"] == port["protocol"]);
        if let Some(node) = same.map(|same| same["nodePort"].clone()).filter(|node| node.is_number())
            && port["nodePort"].is_null()
        {
            port["nodePort"] = node;
        }
    }
    node_ports(new);
}

/// What only services of other types have goes with the type, unless the same write changes it.
fn leave(before: &Value, now: &mut Value) {
    let kind = now["type"].as_str().unwrap_or_default();
    let open = matches!(kind, "NodePort" | "LoadBalancer");
    let outside = now["externalIPs"].as_array().is_some_and(|list| !list.is_empty());
    let of_others = [
        (kind == "ExternalName", &["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"][..]),
        (
            kind != "LoadBalancer",
            &["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"][..],
        ),
        (!(open || kind == "ClusterIP" && outside), &["externalTrafficPolicy"][..]),
    ];
    let gone = of_others.into_iter().filter(|(other, _)| *other).flat_map(|(_, members)| members);
    let gone: Vec<&str> = gone.copied().filter(|member| before[*member] == now[*member]).collect();
    let Some(now) = now.as_object_mut() else { return };
    gone.iter().for_each(|member| drop(now.remove(*member)));
    for port in now.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten().filter(|_| !open) {
        let former = before["ports"].as_array().into_iter().flatten();
        let mut same = former.filter(|former| former["port"] == port["port"]);
        if same.any(|former| former["nodePort"] == port["nodePort"])
            && let Some(port) = port.as_object_mut()
        {
            port.remove("nodePort");
        }
    }
}

fn pod(pod: &mut Value) {
    label_keys::merge(pod);
    let Some(spec) = pod.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    let class = qos_class(spec);
    pod["status"] = json!({"phase": "Pending", "qosClass": class});
    if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        pod["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates", "lastProbeTime": null,
            "lastTransitionTime": pod["metadata"]["creationTimestamp"]}]);
    }
}

/// The quality of service class, by the requested resources: those of the pod if it has its own, else those of its containers. Zero
/// amounts do not count.
pub(super) fn qos_class(spec: &Value) -> &'static str {
    let own = Some(&spec["resources"]).filter(|own| own["limits"].is_object() || own["requests"].is_object());
    let lists = ["containers", "initContainers"].iter().flat_map(|list| spec[list].as_array()).flatten();
    let resources: Vec<&Value> =
        own.map_or_else(|| lists.map(|container| &container["resources"]).collect(), |own| vec![own]);
    let (mut any, mut all) = (false, true);
    for resources in resources {
        for name in ["cpu", "memory"] {
            let amount = |list: &str| Quantity::read(&resources[list][name]);
            let (limit, request) = (amount("limits"), amount("requests"));
            any |= [limit, request].into_iter().flatten().any(|amount| !amount.is_zero());
            all &= limit.is_some_and(|limit| !limit.is_zero()) && (request.is_none() || request == limit);
        }
    }
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// Sets the selector of a Job and the labels of its template, unless `manualSelector` is set. A Job without labels has those of the
/// template.
fn job(job: &mut Value) {
    if !job["spec"]["template"].is_object() {
        return;
    }
    if job["spec"]["manualSelector"] != true {
        let (name, uid) = (meta::name(job).to_owned(), meta::text(job, "uid").unwrap_or_default().to_owned());
        let labels = [
            ("batch.kubernetes.io/controller-uid", &uid),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("job-name", &name),
        ];
        if job["spec"]["template"]["metadata"].is_null() {
            job["spec"]["template"]["metadata"] = json!({});
        }
        if let Some(metadata) =
            job.pointer_mut("/spec/template/metadata").filter(|metadata| metadata.is_object())
        {
            for (key, value) in labels {
                if metadata["labels"][key].is_null() {
                    metadata["labels"][key] = value.as_str().into();
                }
            }
        }
        // What a client adds is refused later.
        job["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] = uid.into();
    }
    let template = job["spec"]["template"]["metadata"]["labels"].clone();
    if meta::labels_are_empty(job) && template.is_object() {
        meta::set(job, "labels", template);
    }
}

/// IP families and node ports of a service, derived from its uid; `write/allocator.rs` resolves collisions, and chooses the address.
fn families_and_node_ports(service: &mut Value) {
    let Some(spec) =
        service.get_mut("spec").filter(|spec| spec.is_object() && spec["type"] != "ExternalName")
    else {
        return;
    };
    let provided = spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    if !provided.is_empty() && spec["clusterIPs"][0].is_null() {
        spec["clusterIPs"] = json!([provided]);
    }
    // Without addresses of its own and of pods, a service is prepared for both families.
    let prepared = provided == "None" && spec["selector"].as_object().is_none_or(serde_json::Map::is_empty);
    let (families, policy) = if prepared {
        (json!(["IPv4", "IPv6"]), "RequireDualStack")
    } else {
        (json!(["IPv4"]), "SingleStack")
    };
    for (field, value) in [("ipFamilies", families), ("ipFamilyPolicy", json!(policy))] {
        if spec[field].is_null() {
            spec[field] = value;
        }
    }
    node_ports(service);
}

fn node_ports(service: &mut Value) {
    let first = number(service) % 2768;
    let spec = &mut service["spec"];
    if has_health_check(spec) && spec["healthCheckNodePort"].as_u64().unwrap_or(0) == 0 {
        spec["healthCheckNodePort"] = (30_000 + (first + 1000) % 2768).into();
    }
    if !matches!(spec["type"].as_str(), Some("NodePort" | "LoadBalancer"))
        || spec["allocateLoadBalancerNodePorts"] == false
    {
        return;
    }
    for (i, port) in (0u64..).zip(spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten()) {
        if port["nodePort"].as_u64().unwrap_or(0) == 0 && port.is_object() {
            port["nodePort"] = (30_000 + (first + i) % 2768).into();
        }
    }
}

/// Whether load balancers ask the nodes for the health of the service.
fn has_health_check(spec: &Value) -> bool {
    spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

/// A number that follows from the uid.
pub(crate) fn number(object: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    meta::text(object, "uid").hash(&mut hasher);
    hasher.finish()
}

/// Adds the protection finalizer of a volume or claim and sets its phase to pending.
fn add_protection_finalizer(object: &mut Value, finalizer: &str) {
    hold(object, finalizer);
    object["status"] = json!({"phase": "Pending"});
}

fn hold(object: &mut Value, finalizer: &str) {
    let mut finalizers: Vec<String> =
        meta::strings(object, "finalizers").into_iter().map(Into::into).collect();
    if !finalizers.iter().any(|present| present == finalizer) {
        finalizers.push(finalizer.into());
    }
    meta::set_finalizers(object, finalizers.iter().map(String::as_str));
}

/// Counts the templates of a DaemonSet.
pub(super) fn count_templates(old: &Value, new: &mut Value) {
    let before = old["metadata"]["annotations"][TEMPLATE_GENERATION].as_str();
    let before: i64 = before.and_then(|number| number.parse().ok()).unwrap_or(0);
    let changed = old["spec"]["template"] != new["spec"]["template"];
    annotate(new, TEMPLATE_GENERATION, &(before + i64::from(changed)).to_string());
}

fn annotate(object: &mut Value, key: &str, value: &str) {
    if object["metadata"].is_object() {
        object["metadata"]["annotations"][key] = value.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_keeps_its_allocated_values() {
        let mut service = json!({"metadata": {"uid": "u"}, "spec": {"type": "NodePort", "ports": [{"port": 80, "protocol": "TCP"}]}});
        families_and_node_ports(&mut service);
        assert!(
            service["spec"]["ports"][0]["nodePort"]
                .as_u64()
                .is_some_and(|port| (30_000..32_768).contains(&port))
        );
        let mut again = service.clone();
        families_and_node_ports(&mut again);
        assert_eq!(again, service);
        let mut headless =
            json!({"metadata": {"uid": "u"}, "spec": {"type": "ClusterIP", "clusterIP": "None"}});
        families_and_node_ports(&mut headless);
        assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
    }

    #[test]
    fn an_update_without_cluster_ip_keeps_it() {
        let scheme = crate::scheme::Scheme::with_built_in();
        let services = scheme.by_plural("", "services").unwrap();
        let mut old = json!({"metadata": {"uid": "u"}, "spec": {"type": "NodePort", "clusterIP": "10.0.0.9", "ports": [{"port": 80, "protocol": "TCP"}]}});
        families_and_node_ports(&mut old);
        let mut new = json!({"metadata": {"uid": "u"}, "spec": {"type": "NodePort", "ports": [{"port": 80, "protocol": "TCP"}]}});
        update(services, &old, &mut new);
        assert_eq!(new, old);
    }

    /// As `v1.37` answers.
    #[test]
    fn what_other_types_have_goes_with_the_type() {
        let balanced = json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
            "allocateLoadBalancerNodePorts": true, "loadBalancerClass": "a.b/c", "externalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "nodePort": 30_000}]});
        let mut now = balanced.clone();
        now["type"] = "ExternalName".into();
        leave(&balanced, &mut now);
        assert_eq!(now, json!({"type": "ExternalName", "ports": [{"port": 80}]}));
        let mut now = balanced.clone();
        (now["type"], now["loadBalancerClass"]) = ("NodePort".into(), "x".into());
        leave(&balanced, &mut now);
        assert_eq!((&now["loadBalancerClass"], &now["ports"]), (&json!("x"), &balanced["ports"]));
        assert!(now.get("allocateLoadBalancerNodePorts").is_none());
    }

    #[test]
    fn qos_class_follows_from_requests_and_limits() {
        let of = |resources: Value| qos_class(&json!({"containers": [{"resources": resources}]}));
        assert_eq!(of(json!({})), "BestEffort");
        assert_eq!(of(json!({"requests": {"cpu": "1"}})), "Burstable");
        assert_eq!(of(json!({"limits": {"cpu": "1", "memory": "1"}})), "Guaranteed");
        assert_eq!(of(json!({"requests": {"cpu": "0", "ephemeral-storage": "1"}})), "BestEffort");
        assert_eq!(of(json!({"limits": {"cpu": "1", "memory": "0"}})), "Burstable");
        assert_eq!(of(json!({"limits": {"cpu": "1", "memory": "1"}, "requests": {"cpu": "0"}})), "Burstable");
    }
}
