//! The status of kinds: counts that exceed others, conditions, and what only a controller may say.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::Write;
use crate::{
    object::{addresses, meta, names},
    schema::{ErrorList, golang},
    validation::values::{amounts, is_set, items, text},
};

/// Pods by what they are: none exceeds all, and no more are available than are ready, by this name of the latter.
type Counts = (&'static [&'static str], &'static str);

const REPLICAS: Counts = (&["fullyLabeledReplicas", "readyReplicas", "availableReplicas"], "readyReplicas");
const DEPLOYMENT: Counts = (&["updatedReplicas", "readyReplicas", "availableReplicas"], "readyReplicas");
const STATEFUL_SET: Counts =
    (&["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"], "status.readyReplicas");

pub(super) fn replicas(write: &Write<'_>, errors: &mut ErrorList) {
    let (status, old) = (&write.object["status"], write.old.map(|old| &old["status"]));
    let (members, ready) = match write.endpoint.kind() {
        "Deployment" => DEPLOYMENT,
        "StatefulSet" => STATEFUL_SET,
        "DaemonSet" => (&[][..], ""),
        _ => REPLICAS,
    };
    let count = |member: &str| status[member].as_i64().unwrap_or(0);
    for member in members {
        if count(member) > count("replicas") {
            let why = "cannot be greater than status.replicas";
            errors.invalid(format!("status.{member}"), count(member), why);
        }
    }
    if count("availableReplicas") > count("readyReplicas") {
        let why = format!("cannot be greater than {ready}");
        errors.invalid("status.availableReplicas", count("availableReplicas"), &why);
    }
    let collisions = |status: &Value| status["collisionCount"].as_i64();
    if old.and_then(collisions).is_some_and(|before| collisions(status).is_none_or(|now| now < before)) {
        errors.invalid("status.collisionCount", count("collisionCount"), "cannot be decremented");
    }
}

pub(super) fn pod(write: &Write<'_>, errors: &mut ErrorList) {
    const NOT_NEGATIVE: &str = "must be a non-negative integer";
    let status = &write.object["status"];
    for (list, single) in [("podIPs", "podIP"), ("hostIPs", "hostIP")] {
        for (i, address) in items(status, list) {
            let (at, ip) = (format!("status.{list}[{i}]"), text(address, "ip"));
            if single == "hostIP" && i == 0 && ip != text(status, single) {
                errors.invalid(format!("{at}.ip"), &address["ip"], "must be equal to `hostIP`");
            }
            if let Some(why) = addresses::address(ip) {
                errors.invalid(at, &address["ip"], &why);
            }
        }
    }
    let class = write.old.map(|old| &old["status"]["qosClass"]).filter(|class| is_set(class));
    if class.is_some_and(|class| is_set(&status["qosClass"]) && *class != status["qosClass"]) {
        errors.invalid("status.qosClass", &status["qosClass"], "field is immutable");
    }
    let node = text(status, "nominatedNodeName");
    if !node.is_empty() {
        errors.text("status.nominatedNodeName", node, names::subdomain(node));
    }
    if status["observedGeneration"].as_i64().is_some_and(|generation| generation < 0) {
        errors.invalid("status.observedGeneration", &status["observedGeneration"], NOT_NEGATIVE);
    }
    for (i, condition) in items(status, "conditions") {
        let at = format!("status.conditions[{i}]");
        if condition["observedGeneration"].as_i64().is_some_and(|generation| generation < 0) {
            errors.invalid(
                format!("{at}.observedGeneration"),
                &condition["observedGeneration"],
                NOT_NEGATIVE,
            );
        }
        let ty = text(condition, "type");
        errors.text(format!("{at}.Type"), ty, names::qualified_name(ty));
    }
}

pub(super) fn volume_claim(write: &Write<'_>, errors: &mut ErrorList) {
    const RESIZES: [&str; 5] = [
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
    ];
    let status = &write.object["status"];
    for list in ["capacity", "allocatedResources"] {
        for (name, amount) in amounts(status, list).filter(|(_, amount)| amount.is_negative()) {
            let why = "must be a valid resource quantity";
            errors.invalid(format!("status.{list}[{name}]"), amount.to_string(), why);
        }
    }
    for (name, resize) in status["allocatedResourceStatuses"].as_object().into_iter().flatten() {
        if !resize.as_str().is_some_and(|resize| RESIZES.contains(&resize)) {
            // As Kubernetes does, it says which resource and not which status.
            errors.not_supported("status.allocatedResourceStatuses", format!("{name:?}"), &RESIZES);
        }
    }
}

/// A namespace is terminating while it is deleted, and only then.
pub(super) fn namespace(write: &Write<'_>, errors: &mut ErrorList) {
    let phase = text(&write.object["status"], "phase");
    let (expected_phase, why) = if meta::is_deleting(write.object) {
        ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty")
    } else {
        ("Active", "may only be 'Active' if `deletionTimestamp` is empty")
    };
    if !matches!(phase, "") && phase != expected_phase {
        errors.invalid("status.Phase", format!("{phase:?}"), why);
    }
}

pub(super) fn node(write: &Write<'_>, errors: &mut ErrorList) {
    for list in ["capacity", "allocatable"] {
        negative(&write.object["status"], list, "status", errors);
    }
}

/// The addresses at which balancers are reached, of a service and of an ingress.
pub(super) fn balancer(write: &Write<'_>, errors: &mut ErrorList) {
    let is_service = write.endpoint.kind() == "Service";
    let balancer = &write.object["status"]["loadBalancer"];
    if is_service && write.spec()["type"] != "LoadBalancer" && items(balancer, "ingress").count() > 0 {
        let why = "may only be used when `spec.type` is 'LoadBalancer'";
        return errors.forbidden("status.loadBalancer.ingress", why);
    }
    for (i, ingress) in items(balancer, "ingress") {
        let at = format!("status.loadBalancer.ingress[{i}]");
        let (ip, hostname, mode) = (text(ingress, "ip"), text(ingress, "hostname"), &ingress["ipMode"]);
        if let Some(why) = addresses::address(ip).filter(|_| !ip.is_empty()) {
            errors.invalid(format!("{at}.ip"), &ingress["ip"], &why);
        }
        if is_service && !mode.is_null() && ip.is_empty() {
            errors.forbidden(format!("{at}.ipMode"), "may not be specified when `ip` is not set");
        } else if is_service && !mode.is_null() && *mode != "VIP" && *mode != "Proxy" {
            errors.not_supported(format!("{at}.ipMode"), mode, &["Proxy", "VIP"]);
        }
        if !hostname.is_empty() {
            if hostname.parse::<std::net::IpAddr>().is_ok() {
                let why = "must be a DNS name, not an IP address";
                errors.invalid(format!("{at}.hostname"), &ingress["hostname"], why);
            }
            errors.text(format!("{at}.hostname"), hostname, names::subdomain(hostname));
        }
    }
}

/// Reported devices are those that are allocated to the claim.
pub(super) fn claim(write: &Write<'_>, errors: &mut ErrorList) {
    let status = &write.object["status"];
    let key = |device| ["driver", "pool", "device", "shareID"].map(|member| text(device, member));
    for (i, device) in items(status, "devices") {
        let [driver, pool, name, share] = key(device);
        let mut allocated = items(&status["allocation"]["devices"], "results");
        if !allocated.any(|(_, result)| key(result) == [driver, pool, name, share]) {
            let device_id =
                format!(r#"{{"Driver":{driver:?},"Pool":{pool:?},"Device":{name:?},"ShareID":{share:?}}}"#);
            errors.invalid(
                format!("status.devices[{i}]"),
                device_id,
                "must be an allocated device in the claim",
            );
        }
    }
}

/// A certificate that a signer issued.
pub(super) fn certificate(write: &Write<'_>, errors: &mut ErrorList) {
    let issued = &write.object["status"]["certificate"];
    let decoded = issued.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok()).unwrap_or_default();
    let has_block = String::from_utf8_lossy(&decoded).contains("-----BEGIN CERTIFICATE-----");
    if !decoded.is_empty() && !has_block {
        let why = "must contain at least one CERTIFICATE PEM block";
        errors.invalid("status.certificate", "\"<certificate data>\"", why);
    }
}

/// Conditions by the conventions of the API.
pub(super) fn conditions(write: &Write<'_>, errors: &mut ErrorList) {
    let list = &write.object["status"];
    for (i, condition) in items(list, "conditions") {
        let at = |member: &str| format!("status.conditions[{i}].{member}");
        match text(condition, "type") {
            "" => errors.required(at("type"), "is required"),
            ty => errors.text(at("type"), ty, names::qualified_name(ty)),
        }
        match text(condition, "status") {
            "" => errors.required(at("status"), ""),
            "True" | "False" | "Unknown" => {}
            _ => errors.not_supported(at("status"), &condition["status"], &["False", "True", "Unknown"]),
        }
        if condition["observedGeneration"].as_i64().is_some_and(|generation| generation < 0) {
            let why = "must be greater than or equal to zero";
            errors.invalid(at("observedGeneration"), &condition["observedGeneration"], why);
        }
        if !is_set(&condition["lastTransitionTime"]) {
            errors.required(at("lastTransitionTime"), "");
        }
        match text(condition, "reason") {
            "" => errors.required(at("reason"), ""),
            reason if !is_reason(reason) => errors.invalid(at("reason"), &condition["reason"], REASON),
            _ => {}
        }
        let same = |(_, other): &(usize, &Value)| other["type"] == condition["type"];
        if items(list, "conditions").take(i).any(|other| same(&other)) {
            errors.duplicate(format!("status.conditions[{i}]"), &condition["type"]);
        }
    }
}

const REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of \
    alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  \
    or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
    '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

fn is_reason(reason: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.chars().all(|c| word(c) || matches!(c, ',' | ':'))
        && reason.ends_with(word)
}

fn negative(status: &Value, list: &str, at: &str, errors: &mut ErrorList) {
    for (name, amount) in amounts(status, list).filter(|(_, amount)| amount.is_negative()) {
        let printed = golang::quoted(&amount.to_string());
        errors.invalid(format!("{at}.{list}.{name}"), printed, "must be greater than or equal to 0");
    }
}
