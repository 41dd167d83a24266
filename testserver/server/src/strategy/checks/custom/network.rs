//! Services, endpoints, ingresses and network policies.

use serde_json::{Value, json};

use super::super::formats;
use super::values::{invalid, is_set, items, text};
use crate::{object::names, schema::FieldError};

pub(super) fn service(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let kind = text(value, "type");
    let port = &value["healthCheckNodePort"];
    if port.as_i64().is_some_and(|port| port != 0)
        && (kind != "LoadBalancer" || text(value, "externalTrafficPolicy") != "Local")
    {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        invalid(errors, format!("{at}.healthCheckNodePort"), port, why);
    }
    let external = text(value, "externalName");
    match (kind, external) {
        ("ExternalName", "") => errors.push(FieldError::required(format!("{at}.externalName"), "")),
        ("ExternalName", name) => {
            if let Some(why) = names::subdomain(name.trim_end_matches('.')) {
                invalid(errors, format!("{at}.externalName"), &value["externalName"], &why);
            }
        }
        ("NodePort" | "LoadBalancer", _) if value["clusterIP"] == "None" => {
            let why = format!("may not be set to 'None' for {kind} services");
            invalid(errors, format!("{at}.clusterIPs[0]"), &value["clusterIP"], &why);
        }
        _ => {}
    }
    let open = matches!(kind, "NodePort" | "LoadBalancer")
        || value["externalIPs"].as_array().is_some_and(|list| !list.is_empty());
    if !open && is_set(&value["externalTrafficPolicy"]) {
        let why = "may only be set for externally-accessible services";
        invalid(errors, format!("{at}.externalTrafficPolicy"), &value["externalTrafficPolicy"], why);
    }
    let ranges = format!("{at}.LoadBalancerSourceRanges");
    for (i, range) in items(value, "loadBalancerSourceRanges") {
        if kind != "LoadBalancer" {
            let why = "may only be used when `type` is 'LoadBalancer'";
            errors.push(FieldError::forbidden(&*ranges, why));
            break;
        }
        if let Some(why) = formats::problem("cidr", range.as_str().unwrap_or_default().trim()) {
            invalid(errors, format!("{ranges}[{i}]"), range, &why);
        }
    }
    let timeout = &value["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    if timeout.as_i64().is_some_and(|seconds| !(1..=86_400).contains(&seconds)) {
        let why = "must be greater than 0 and less than 86400";
        invalid(errors, format!("{at}.sessionAffinityConfig.clientIP.timeoutSeconds"), timeout, why);
    }
    if !matches!(kind, "NodePort" | "LoadBalancer") {
        for (i, _) in items(value, "ports").filter(|(_, port)| port["nodePort"].as_i64().unwrap_or(0) != 0) {
            let why = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(format!("{at}.ports[{i}].nodePort"), why));
        }
    }
}

pub(super) fn ingress(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if value["defaultBackend"].is_null() && value["rules"].as_array().is_none_or(Vec::is_empty) {
        let why = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(at, &value["rules"], why));
    }
}

pub(super) fn ingress_rule(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let host = text(value, "host");
    if host.parse::<std::net::IpAddr>().is_ok() {
        invalid(errors, format!("{at}.host"), &value["host"], "must be a DNS name, not an IP address");
    }
}

/// Paths that servers compare are absolute and in their shortest form.
pub(super) fn ingress_path(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let path = text(value, "path");
    let exact = matches!(text(value, "pathType"), "Exact" | "Prefix");
    let place = format!("{at}.path");
    if !path.starts_with('/') && (exact || !path.is_empty()) {
        invalid(errors, place, &json!(path), "must be an absolute path");
        return;
    }
    if !exact {
        return;
    }
    for part in ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|part| path.contains(part)) {
        invalid(errors, place.clone(), &value["path"], &format!("must not contain '{part}'"));
    }
    for end in ["/..", "/."].into_iter().filter(|end| path.ends_with(end)) {
        invalid(errors, place.clone(), &value["path"], &format!("cannot end with '{end}'"));
    }
}

/// The exceptions of a range of addresses are parts of it.
pub(super) fn ip_block(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(whole) = Range::read(text(value, "cidr")) else { return };
    for (i, part) in items(value, "except") {
        if Range::read(part.as_str().unwrap_or_default()).is_some_and(|part| !whole.is_wider_than(&part)) {
            invalid(errors, format!("{at}.except[{i}]"), part, "must be a strict subset of `cidr`");
        }
    }
}

/// A range of addresses: their first bits, and how many of the bits are fixed.
struct Range {
    first: std::net::IpAddr,
    fixed: u32,
}

impl Range {
    fn read(text: &str) -> Option<Self> {
        let (first, fixed) = text.split_once('/')?;
        Some(Self { first: first.parse().ok()?, fixed: fixed.parse().ok()? })
    }

    fn is_wider_than(&self, other: &Self) -> bool {
        use std::net::IpAddr::{V4, V6};
        let same = match (self.first, other.first) {
            (V4(ours), V4(theirs)) => (ours.to_bits() ^ theirs.to_bits()).leading_zeros(),
            (V6(ours), V6(theirs)) => (ours.to_bits() ^ theirs.to_bits()).leading_zeros(),
            _ => return false,
        };
        self.fixed < other.fixed && same >= self.fixed
    }
}

pub(super) fn endpoints(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let none = |list: &str| value[list].as_array().is_none_or(Vec::is_empty);
    if none("addresses") && none("notReadyAddresses") {
        errors.push(FieldError::required(at, "must specify `addresses` or `notReadyAddresses`"));
    }
    if value["ports"].as_array().is_some_and(|ports| ports.len() > 1) {
        for (i, _) in items(value, "ports").filter(|(_, port)| text(port, "name").is_empty()) {
            errors.push(FieldError::required(format!("{at}.ports[{i}].name"), ""));
        }
    }
}

/// Traffic goes to addresses of other machines. Only here it may stay on this one, which a genuine server refuses: the services of a test lead to its webhooks.
pub(super) fn endpoint(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Ok(ip) = text(value, "ip").parse::<std::net::IpAddr>() else { return };
    let (local, multicast) = match ip {
        std::net::IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        std::net::IpAddr::V6(ip) => {
            (ip.is_unicast_link_local(), ip.segments()[0] & 0xffc0 == 0xff00 && ip.is_multicast())
        }
    };
    let why = match () {
        () if ip.is_unspecified() => format!("may not be unspecified ({ip})"),
        () if local => "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned(),
        () if multicast => {
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()
        }
        () => return,
    };
    invalid(errors, format!("{at}.ip"), &value["ip"], &why);
}

pub(super) fn backend(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let (service, resource) = (&value["service"], &value["resource"]);
    if is_set(service) && is_set(resource) {
        errors.push(FieldError::invalid(at, "\"\"", "cannot set both resource and service backends"));
        return;
    }
    if service.is_null() && resource.is_null() {
        errors.push(FieldError::invalid(at, "\"\"", "must supply one of resource or service"));
    }
    let port = &service["port"];
    match (is_set(service), text(port, "name"), port["number"].as_i64().unwrap_or(0)) {
        (true, "", 0) => errors.push(FieldError::required(at, "port name or number is required")),
        (true, name, number) if !name.is_empty() && number != 0 => {
            errors.push(FieldError::invalid(at, "\"\"", "cannot set both port name & port number"));
        }
        _ => {}
    }
}

pub(super) fn peer(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let selects = is_set(&value["podSelector"]) || is_set(&value["namespaceSelector"]);
    if is_set(&value["ipBlock"]) && selects {
        errors.push(FieldError::forbidden(at, "may not specify both ipBlock and another peer"));
    } else if value["ipBlock"].is_null() && !selects {
        errors.push(FieldError::required(at, "must specify a peer"));
    }
}

pub(super) fn policy_port(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(end) = value["endPort"].as_i64() else { return };
    let place = format!("{at}.endPort");
    match value["port"].as_i64() {
        Some(port) if end < port => {
            invalid(errors, place, &value["endPort"], "must be greater than or equal to `port`")
        }
        Some(_) => {}
        None if value["port"].is_null() => {
            errors.push(FieldError::required(format!("{at}.port"), "must be specified when `endPort` is set"))
        }
        None => invalid(errors, place, &value["endPort"], "may not be specified when `port` is non-numeric"),
    }
}
