//! What the responses to accepted writes of built-in kinds warn of: fields that are deprecated, ignored or odd. Deprecated kinds are in
//! `data/kinds.jsonl`.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::Value;

use crate::{object::quantity::Quantity, scheme::Endpoint};

const STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// Sources of volumes whose drivers are gone: the member, its name in the warning, and since when.
const GONE: [(&str, &str, &str); 6] = [
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
];

/// Labels of nodes with other names by now.
const LABELS: [(&str, &str, &str); 4] = [
    ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
    ("failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"),
];

/// The warnings about an object that is stored.
pub(crate) fn warnings(endpoint: &Endpoint, object: &Value) -> Vec<String> {
    let (mut out, spec) = (Vec::new(), &object["spec"]);
    if endpoint.resource.custom {
        return out;
    }
    match (endpoint.group(), endpoint.plural()) {
        ("", "services") => service(spec, &mut out),
        ("", "persistentvolumes") => volume(object, &mut out),
        ("", "persistentvolumeclaims") => claim(object, &mut out),
        ("", "nodes") if is_set(&spec["externalID"]) => {
            out.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".into());
        }
        ("discovery.k8s.io", "endpointslices") if object["addressType"] == "FQDN" => {
            out.push("spec.addressType: FQDN endpoints are deprecated".into());
        }
        ("resource.k8s.io", "resourceslices") => {
            let driver = text(&spec["driver"]);
            if driver.contains(|c: char| c.is_ascii_uppercase()) {
                let why =
                    format!("driver names should be lowercase; {driver:?} contains uppercase characters");
                out.push(format!("spec.driver: {why}"));
            }
        }
        ("storage.k8s.io", "csidrivers")
            if is_set(&spec["tokenRequests"]) && spec["serviceAccountTokenInSecrets"].is_null() =>
        {
            out.push(
                "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
                 logging of tokens in volume attributes"
                    .into(),
            );
        }
        ("storage.k8s.io", "storageclasses") => {
            for (i, term) in items(&object["allowedTopologies"]).enumerate() {
                for (j, expression) in items(&term["matchLabelExpressions"]).enumerate() {
                    let at = format!("allowedTopologies[{i}].matchLabelExpressions[{j}].key: ");
                    out.extend(renamed(text(&expression["key"])).map(|why| format!("{at}{why}")));
                }
            }
        }
        ("networking.k8s.io", "ingresses") if annotation(object, INGRESS_CLASS).is_some() => {
            let why = "is deprecated, please use 'spec.ingressClassName' instead";
            out.push(format!("annotation {INGRESS_CLASS:?} {why}"));
        }
        ("node.k8s.io", "runtimeclasses") => {
            let labels = object["scheduling"]["nodeSelector"].as_object().into_iter().flatten();
            out.extend(
                labels
                    .filter_map(|(label, _)| renamed(label))
                    .map(|why| format!("scheduling.nodeSelector: {why}")),
            );
        }
        _ => {}
    }
    out
}

fn service(spec: &Value, out: &mut Vec<String>) {
    let (headless, external) = (spec["clusterIP"] == "None", spec["type"] == "ExternalName");
    let (address, outside) = (text(&spec["loadBalancerIP"]), items(&spec["externalIPs"]).next().is_some());
    if headless {
        for (ignored, name) in [
            (!address.is_empty(), "loadBalancerIP"),
            (outside, "externalIPs"),
            (spec["sessionAffinity"] != "None", "SessionAffinity"),
        ] {
            out.extend(ignored.then(|| format!("spec.{name} is ignored for headless services")));
        }
    } else if outside && external {
        out.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".into());
    } else if outside {
        out.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".into());
    }
    if let Some(standard) = without_zeros(address).filter(|_| !headless) {
        let why = format!("non-standard IP address {address:?} is invalid: use {:?}", standard.to_string());
        out.push(format!("spec.loadBalancerIP: {why}"));
    }
    if !external && is_set(&spec["externalName"]) {
        out.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".into());
    }
    if spec["trafficDistribution"] == "PreferClose" {
        out.push("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".into());
    }
}

/// An IPv4 address that only leading zeros keep from being one.
fn without_zeros(address: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u8> = address.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let parts: [u8; 4] = parts.try_into().ok().filter(|_| address.parse::<IpAddr>().is_err())?;
    Some(parts.into())
}

fn volume(volume: &Value, out: &mut Vec<String>) {
    let spec = &volume["spec"];
    class(volume, out);
    if annotation(volume, MOUNT_OPTIONS).is_some() {
        let why = "deprecated since v1.31; use \"mountOptions\" attribute instead";
        out.push(format!("metadata.annotations[{MOUNT_OPTIONS}]: {why}"));
    }
    if spec["persistentVolumeReclaimPolicy"] == "Recycle" {
        let why = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
        out.push(format!("spec.persistentVolumeReclaimPolicy: {why}"));
    }
    for (i, term) in items(&spec["nodeAffinity"]["required"]["nodeSelectorTerms"]).enumerate() {
        for (j, expression) in items(&term["matchExpressions"]).enumerate() {
            let (key, at) = (text(&expression["key"]), "spec.nodeAffinity.required.nodeSelectorTerms");
            out.extend(
                renamed(key).map(|why| format!("{at}[{i}].matchExpressions[{j}].key: {key} is {why}")),
            );
        }
    }
    let gone = GONE.into_iter().filter(|(member, ..)| is_set(&spec[*member]));
    out.extend(gone.map(|(_, field, since)| format!("spec.{field}: {since}")));
}

fn claim(claim: &Value, out: &mut Vec<String>) {
    class(claim, out);
    for list in ["requests", "limits"] {
        let amount = &claim["spec"]["resources"][list]["storage"];
        if Quantity::read(amount).is_some_and(|amount| !amount.is_whole()) {
            let why = format!("fractional byte value {amount} is invalid, must be an integer");
            out.push(format!("spec.resources.{list}[storage]: {why}"));
        }
    }
}

fn class(object: &Value, out: &mut Vec<String>) {
    if annotation(object, STORAGE_CLASS).is_some() {
        let why = "deprecated since v1.8; use \"storageClassName\" attribute instead";
        out.push(format!("metadata.annotations[{STORAGE_CLASS}]: {why}"));
    }
}

fn renamed(label: &str) -> Option<String> {
    let (_, since, name) = LABELS.iter().find(|(old, ..)| *old == label)?;
    Some(format!("deprecated since {since}; use {name:?} instead"))
}

fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object["metadata"]["annotations"].get(name)
}

fn is_set(value: &Value) -> bool {
    !value.is_null() && value != ""
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scheme::Scheme;

    fn of(group: &str, plural: &str, object: Value) -> Vec<String> {
        warnings(Scheme::with_built_in().by_plural(group, plural).unwrap(), &object)
    }

    /// What `v1.37` said to each.
    #[test]
    fn responses_tell_what_is_deprecated_or_ignored() {
        let headless = json!({"clusterIP": "None", "type": "ClusterIP", "loadBalancerIP": "1.2.3.4", "externalIPs": ["1.2.3.4"],
            "sessionAffinity": "ClientIP", "externalName": "x", "trafficDistribution": "PreferClose"});
        assert_eq!(
            of("", "services", json!({"spec": headless})),
            [
                "spec.loadBalancerIP is ignored for headless services",
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
                "spec.externalName is ignored when spec.type is not \"ExternalName\"",
                "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
            ]
        );
        let open = json!({"type": "LoadBalancer", "externalIPs": ["1.2.3.4"], "loadBalancerIP": "01.2.3.4"});
        assert_eq!(
            of("", "services", json!({"spec": open})),
            [
                "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
                "spec.loadBalancerIP: non-standard IP address \"01.2.3.4\" is invalid: use \"1.2.3.4\""
            ]
        );
        let terms = json!([{"matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "Exists"}]}]);
        let volume = json!({"metadata": {"annotations": {MOUNT_OPTIONS: "x"}},
            "spec": {"storageos": {}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}});
        assert_eq!(
            of("", "persistentvolumes", volume),
            [
                "metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use \"mountOptions\" attribute instead",
                "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use \"kubernetes.io/arch\" instead",
                "spec.storageOS: deprecated in v1.22, non-functional in v1.25+"
            ]
        );
        assert_eq!(
            of("resource.k8s.io", "resourceslices", json!({"spec": {"driver": "A.b"}})),
            ["spec.driver: driver names should be lowercase; \"A.b\" contains uppercase characters"]
        );
        assert!(
            of("", "services", json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1"}})).is_empty()
        );
    }
}
