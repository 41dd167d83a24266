//! Pods: fields that exclude or need each other.

use serde_json::{Value, json};

use super::{
    host, resources, scheduling, security,
    values::{is_set, items, text},
};
use crate::{object::names, schema::ErrorList, validation::metadata::labels};

/// The labels and annotations of a template, at the path that genuine servers name.
pub(super) fn template(value: &Value, at: &str, errors: &mut ErrorList) {
    labels(&value["metadata"], at, errors);
    if items(&value["spec"], "ephemeralContainers").next().is_some() {
        let why = "ephemeral containers not allowed in pod template";
        errors.forbidden(format!("{at}.spec.ephemeralContainers"), why);
    }
}

pub(super) fn pod(value: &Value, at: &str, errors: &mut ErrorList) {
    resources::overhead(value, at, errors);
    resources::claims(value, at, errors);
    host::namespaces(value, at, errors);
    scheduling::spreads(value, at, errors);
    security::system(value, at, errors);
    names_of_host(value, at, errors);
    sleeps(value, at, errors);
    dns(value, at, errors);
    for (i, container) in items(value, "initContainers") {
        if text(container, "restartPolicy") != "Always" {
            runs_once(container, &format!("{at}.initContainers[{i}]"), errors);
        }
    }
    if value["restartPolicy"] == "Never" {
        never_restarts(value, at, errors);
    }
    if value["shareProcessNamespace"] == true && value["hostPID"] == true {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(format!("{at}.shareProcessNamespace"), true, why);
    }
    let system = &value["os"]["name"];
    if system.as_str().is_some_and(|name| !matches!(name, "" | "linux" | "windows")) {
        errors.not_supported(format!("{at}.os"), system, &["linux", "windows"]);
    }
    let mut gates = Vec::new();
    for (i, gate) in items(value, "schedulingGates") {
        let (place, name) = (format!("{at}.schedulingGates[{i}]"), text(gate, "name"));
        for why in names::qualified_name_problems(name) {
            errors.invalid(place.clone(), json!(name), &why);
        }
        if gates.contains(&name) {
            errors.duplicate(place, format!("{name:?}"));
        }
        gates.push(name);
    }
    for (i, gate) in items(value, "readinessGates") {
        let name = text(gate, "conditionType");
        for why in names::qualified_name_problems(name) {
            errors.invalid(format!("{at}.readinessGates[{i}].conditionType"), json!(name), &why);
        }
    }
}

/// An init container that ends has no probes.
fn runs_once(container: &Value, at: &str, errors: &mut ErrorList) {
    for member in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if is_set(&container[member]) {
            let why = "may not be set for init containers without restartPolicy=Always";
            errors.forbidden(format!("{at}.{member}"), why);
        }
    }
    for (i, policy) in items(container, "resizePolicy") {
        if policy["restartPolicy"] == "RestartContainer" {
            let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            errors.invalid(format!("{at}.resizePolicy[{i}].restartPolicy"), &policy["restartPolicy"], why);
        }
    }
}

/// A container of a pod that never restarts keeps running when its resources change.
fn never_restarts(pod: &Value, at: &str, errors: &mut ErrorList) {
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for (i, container) in items(pod, list) {
            let policies = items(container, "resizePolicy").map(|(_, policy)| text(policy, "restartPolicy"));
            for policy in policies.filter(|policy| *policy != "NotRequired") {
                let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
                errors.invalid(format!("{at}.{list}[{i}].resizePolicy"), json!(policy), why);
            }
        }
    }
}

/// A container sleeps no longer than its pod waits for its end.
fn sleeps(pod: &Value, at: &str, errors: &mut ErrorList) {
    let Some(grace) = pod["terminationGracePeriodSeconds"].as_i64() else { return };
    for list in ["containers", "initContainers"] {
        for (i, container) in items(pod, list).filter(|(_, container)| is_set(&container["lifecycle"])) {
            for hook in ["postStart", "preStop"] {
                let seconds = &container["lifecycle"][hook]["sleep"]["seconds"];
                if seconds.as_i64().is_some_and(|seconds| !(0..=grace).contains(&seconds)) {
                    let why =
                        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                    errors.invalid(format!("{at}.{list}[{i}].lifecycle.{hook}.sleep"), seconds, &why);
                }
            }
        }
    }
}

fn names_of_host(pod: &Value, at: &str, errors: &mut ErrorList) {
    if pod["hostnameOverride"].is_null() {
        return;
    }
    for member in ["hostNetwork", "setHostnameAsFQDN"] {
        if pod[member] == true {
            let why = format!("may not be specified when {member} is true");
            errors.forbidden(format!("{at}.hostnameOverride"), &why);
        }
    }
}

fn dns(pod: &Value, at: &str, errors: &mut ErrorList) {
    const SERVERS: usize = 3;
    const SEARCHES: usize = 32;
    const LENGTH: usize = 2048;
    let config = &pod["dnsConfig"];
    let servers = items(config, "nameservers").count();
    if pod["hostNetwork"] != true && pod["dnsPolicy"] == "None" && servers == 0 {
        let place = if config.is_null() { "dnsConfig" } else { "dnsConfig.nameservers" };
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.required(format!("{at}.{place}"), why);
    }
    if config.is_null() {
        return;
    }
    let at = format!("{at}.dnsConfig");
    if servers > SERVERS {
        let why = format!("must not have more than {SERVERS} nameservers");
        errors.invalid(format!("{at}.nameservers"), &config["nameservers"], &why);
    }
    let searches: Vec<&str> = items(config, "searches").filter_map(|(_, name)| name.as_str()).collect();
    if searches.len() > SEARCHES {
        let why = format!("must not have more than {SEARCHES} search paths");
        errors.invalid(format!("{at}.searches"), &config["searches"], &why);
    }
    if searches.join(" ").len() > LENGTH {
        let why =
            format!("must not have more than {LENGTH} characters (including spaces) in the search list");
        errors.invalid(format!("{at}.searches"), &config["searches"], &why);
    }
    for (i, option) in items(config, "options") {
        if text(option, "name").is_empty() {
            errors.required(format!("{at}.options[{i}]"), "must not be empty");
        }
    }
}

pub(super) fn claim(value: &Value, at: &str, errors: &mut ErrorList) {
    let (name, template) = (&value["resourceClaimName"], &value["resourceClaimTemplateName"]);
    let why = match (is_set(name), is_set(template)) {
        (false, false) => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
        (true, true) => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        _ => "",
    };
    if !why.is_empty() {
        // As Go prints the struct.
        let own = json!(text(value, "name"));
        let printed = format!(
            "{{\"Name\":{own},\"ResourceClaimName\":{name},\"ResourceClaimTemplateName\":{template}}}"
        );
        errors.invalid(at, printed, why);
    }
    for member in ["resourceClaimName", "resourceClaimTemplateName"] {
        let why = value[member].as_str().and_then(names::subdomain);
        errors.problem(format!("{at}.{member}"), &value[member], why);
    }
}
