//! Services: what each type of service may have.

use std::net::IpAddr;

use serde_json::Value;

use super::{
    network,
    values::{is_set, items, text},
};
use crate::{
    object::{addresses, names},
    schema::ErrorList,
};

pub(super) fn service(value: &Value, at: &str, errors: &mut ErrorList) {
    let kind = text(value, "type");
    match kind {
        "ExternalName" => external(value, at, errors),
        _ => addresses(value, at, kind, errors),
    }
    balanced(value, at, kind, errors);
    let (policy, place) = (&value["externalTrafficPolicy"], format!("{at}.externalTrafficPolicy"));
    if is_set(policy) && !is_open(value, kind) {
        errors.invalid(place, policy, "may only be set for externally-accessible services");
    } else if is_set(policy) && !matches!(policy.as_str(), Some("Cluster" | "Local")) {
        errors.not_supported(place, policy, &["Cluster", "Local"]);
    }
    let timeout = &value["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    if timeout.as_i64().is_some_and(|seconds| !(1..=86_400).contains(&seconds)) {
        let why = "must be greater than 0 and less than 86400";
        errors.invalid(format!("{at}.sessionAffinityConfig.clientIP.timeoutSeconds"), timeout, why);
    }
    if kind == "ClusterIP" {
        for (i, _) in items(value, "ports").filter(|(_, port)| port["nodePort"].as_i64().unwrap_or(0) != 0) {
            let why = "may not be used when `type` is 'ClusterIP'";
            errors.forbidden(format!("{at}.ports[{i}].nodePort"), why);
        }
    }
    for (i, address) in items(value, "externalIPs") {
        let Ok(ip) = address.as_str().unwrap_or_default().parse::<IpAddr>() else { continue };
        let why = match ip.is_loopback() {
            true => Some("may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()),
            false => network::not_routed(ip),
        };
        errors.problem(format!("{at}.externalIPs[{i}]"), address, why);
    }
}

/// Whether clients outside of the cluster reach the service.
fn is_open(service: &Value, kind: &str) -> bool {
    matches!(kind, "NodePort" | "LoadBalancer")
        || kind == "ClusterIP" && service["externalIPs"].as_array().is_some_and(|list| !list.is_empty())
}

/// A name for something outside of the cluster, without addresses of its own.
fn external(value: &Value, at: &str, errors: &mut ErrorList) {
    match text(value, "externalName") {
        "" => errors.required(format!("{at}.externalName"), ""),
        name => {
            let why = names::subdomain(name.trim_end_matches('.'));
            errors.problem(format!("{at}.externalName"), &value["externalName"], why);
        }
    }
    let why = "may not be set for ExternalName services";
    if !text(value, "clusterIP").is_empty() || is_set(&value["clusterIPs"]) {
        errors.forbidden(format!("{at}.clusterIPs"), why);
    }
    for member in ["ipFamilies", "ipFamilyPolicy"].into_iter().filter(|member| is_set(&value[*member])) {
        errors.forbidden(format!("{at}.{member}"), why);
    }
}

/// The addresses in the cluster: none, or one of each family.
fn addresses(value: &Value, at: &str, kind: &str, errors: &mut ErrorList) {
    let (own, place) = (text(value, "clusterIP"), format!("{at}.clusterIPs"));
    let listed: Vec<&Value> = items(value, "clusterIPs").map(|(_, address)| address).collect();
    let list = &value["clusterIPs"];
    if own.is_empty() && !listed.is_empty() {
        errors.invalid(place.clone(), list, "must be empty when `clusterIP` is not specified");
    } else if listed.first().is_some_and(|first| *first != own) {
        errors.invalid(place.clone(), list, "first value must match `clusterIP`");
    }
    let foreign = value["ipFamilies"][0] == "IPv6";
    if foreign {
        let (place, family) = (format!("{at}.ipFamilies[0]"), &value["ipFamilies"][0]);
        errors.invalid(place, family, "not configured on this cluster");
    }
    for (i, address) in listed.iter().enumerate() {
        let place = format!("{place}[{i}]");
        if *address == "None" {
            if matches!(kind, "NodePort" | "LoadBalancer") {
                let why = format!("may not be set to 'None' for {kind} services");
                errors.invalid(place, address, &why);
            }
        } else if let Some(why) = addresses::address(address.as_str().unwrap_or_default()) {
            errors.invalid(place, address, &why);
        } else {
            let family = if address.as_str().is_some_and(|ip| ip.contains(':')) { "IPv6" } else { "IPv4" };
            let given = value["ipFamilies"][i].as_str().filter(|given| matches!(*given, "IPv4" | "IPv6"));
            if let Some(other) = given.filter(|given| *given != family && !foreign) {
                let why = format!("expected an {other} value as indicated by `ipFamilies[{i}]`");
                errors.invalid(place, address, &why);
            }
        }
    }
    if listed.len() > 2 {
        errors.invalid(place.clone(), list, "may only hold up to 2 values");
    }
    if network::repeats_family(listed.iter().copied()) {
        errors.invalid(place, list, "may specify no more than one IP for each IP family");
    }
}

/// What only a load balancer has.
fn balanced(value: &Value, at: &str, kind: &str, errors: &mut ErrorList) {
    let port = &value["healthCheckNodePort"];
    if port.as_i64().is_some_and(|port| port != 0)
        && (kind != "LoadBalancer" || text(value, "externalTrafficPolicy") != "Local")
    {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.invalid(format!("{at}.healthCheckNodePort"), port, why);
    }
    let ranges = format!("{at}.LoadBalancerSourceRanges");
    for (i, range) in items(value, "loadBalancerSourceRanges") {
        if kind != "LoadBalancer" && i == 0 {
            errors.forbidden(&*ranges, "may only be used when `type` is 'LoadBalancer'");
        }
        let why = addresses::range(range.as_str().unwrap_or_default().trim());
        errors.problem(format!("{ranges}[{i}]"), range, why);
    }
    for member in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if kind != "LoadBalancer" && is_set(&value[member]) {
            errors.forbidden(format!("{at}.{member}"), "may only be used when `type` is 'LoadBalancer'");
        }
    }
}
