//! Endpoints, ingresses, network policies and ranges of addresses.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{
    super::formats,
    values::{is_set, items, text},
};
use crate::{
    object::{addresses, names},
    schema::ErrorList,
};

pub(super) fn ingress(value: &Value, at: &str, errors: &mut ErrorList) {
    if value["defaultBackend"].is_null() && value["rules"].as_array().is_none_or(Vec::is_empty) {
        errors.invalid(at, &value["rules"], "either `defaultBackend` or `rules` must be specified");
    }
}

pub(super) fn ingress_rule(value: &Value, at: &str, errors: &mut ErrorList) {
    let host = text(value, "host");
    if host.parse::<IpAddr>().is_ok() {
        errors.invalid(format!("{at}.host"), &value["host"], "must be a DNS name, not an IP address");
    }
}

/// Paths that servers compare are absolute and in their shortest form.
pub(super) fn ingress_path(value: &Value, at: &str, errors: &mut ErrorList) {
    let path = text(value, "path");
    let exact = matches!(text(value, "pathType"), "Exact" | "Prefix");
    let place = format!("{at}.path");
    if !path.starts_with('/') && (exact || !path.is_empty()) {
        errors.invalid(place, json!(path), "must be an absolute path");
        return;
    }
    if !exact {
        return;
    }
    for part in ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|part| path.contains(part)) {
        errors.invalid(place.clone(), &value["path"], &format!("must not contain '{part}'"));
    }
    for end in ["/..", "/."].into_iter().filter(|end| path.ends_with(end)) {
        errors.invalid(place.clone(), &value["path"], &format!("cannot end with '{end}'"));
    }
}

/// The exceptions of a range of addresses are parts of it.
pub(super) fn ip_block(value: &Value, at: &str, errors: &mut ErrorList) {
    let Some(whole) = Range::read(text(value, "cidr")) else { return };
    for (i, part) in items(value, "except") {
        if Range::read(part.as_str().unwrap_or_default()).is_some_and(|part| !whole.is_wider_than(&part)) {
            errors.invalid(format!("{at}.except[{i}]"), part, "must be a strict subset of `cidr`");
        }
    }
}

/// A range of addresses: their first bits, and how many of the bits are fixed.
struct Range {
    first: IpAddr,
    fixed: u32,
}

impl Range {
    fn read(text: &str) -> Option<Self> {
        let (first, fixed) = text.split_once('/')?;
        Some(Self { first: first.parse().ok()?, fixed: fixed.parse().ok()? })
    }

    fn is_wider_than(&self, other: &Self) -> bool {
        use IpAddr::{V4, V6};
        let same = match (self.first, other.first) {
            (V4(ours), V4(theirs)) => (ours.to_bits() ^ theirs.to_bits()).leading_zeros(),
            (V6(ours), V6(theirs)) => (ours.to_bits() ^ theirs.to_bits()).leading_zeros(),
            _ => return false,
        };
        self.fixed < other.fixed && same >= self.fixed
    }
}

pub(super) fn endpoints(value: &Value, at: &str, errors: &mut ErrorList) {
    let none = |list: &str| value[list].as_array().is_none_or(Vec::is_empty);
    if none("addresses") && none("notReadyAddresses") {
        errors.required(at, "must specify `addresses` or `notReadyAddresses`");
    }
    if value["ports"].as_array().is_some_and(|ports| ports.len() > 1) {
        for (i, _) in items(value, "ports").filter(|(_, port)| text(port, "name").is_empty()) {
            errors.required(format!("{at}.ports[{i}].name"), "");
        }
    }
}

/// Traffic goes to addresses of other machines. Only here it may stay on this one, which a genuine server refuses: the services of a
/// test lead to its webhooks.
pub(super) fn endpoint(value: &Value, at: &str, errors: &mut ErrorList) {
    let Ok(ip) = text(value, "ip").parse::<IpAddr>() else { return };
    errors.problem(format!("{at}.ip"), &value["ip"], not_routed(ip));
}

/// Why no other machine has the address.
pub(super) fn not_routed(ip: IpAddr) -> Option<String> {
    let (local, multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => {
            (ip.is_unicast_link_local(), ip.segments()[0] & 0xffc0 == 0xff00 && ip.is_multicast())
        }
    };
    match () {
        () if ip.is_unspecified() => Some(format!("may not be unspecified ({ip})")),
        () if local => Some("may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        () if multicast => {
            Some("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned())
        }
        () => None,
    }
}

/// The addresses of a slice are of its type. As with [`endpoint`], those of this machine are accepted here.
pub(super) fn slice(value: &Value, _: &str, errors: &mut ErrorList) {
    let kind = text(value, "addressType");
    let problem: fn(&str) -> Option<String> = match kind {
        "IPv4" | "IPv6" => addresses::address,
        "FQDN" => names::subdomain,
        _ => return,
    };
    for (i, endpoint) in items(value, "endpoints") {
        let place = format!("endpoints[{i}].addresses");
        for (j, address) in items(endpoint, "addresses") {
            let given = address.as_str().unwrap_or_default();
            let ip = given.parse::<IpAddr>().ok().filter(|_| kind != "FQDN");
            if let Some(why) = problem(given).or_else(|| ip.and_then(not_routed)) {
                errors.invalid(format!("{place}[{j}]"), address, &why);
            } else if ip.is_some_and(|ip| ip.is_ipv6() != (kind == "IPv6")) {
                errors.invalid(place.clone(), address, &format!("must be an {kind} address"));
            }
        }
    }
}

/// Whether several addresses or ranges are of the same family.
pub(super) fn repeats_family<'v>(texts: impl IntoIterator<Item = &'v Value>) -> bool {
    let mut families = Vec::new();
    for text in texts.into_iter().filter_map(Value::as_str) {
        let address = text.split('/').next().unwrap_or_default();
        let Ok(ip) = address.parse::<IpAddr>() else { continue };
        if families.contains(&ip.is_ipv6()) {
            return true;
        }
        families.push(ip.is_ipv6());
    }
    false
}

pub(super) fn service_range(value: &Value, at: &str, errors: &mut ErrorList) {
    let (place, ranges) = (format!("{at}.cidrs"), &value["cidrs"]);
    if ranges.as_array().is_some_and(|ranges| ranges.len() > 2) {
        let printed = format!("{{\"CIDRs\":{ranges}}}");
        errors.invalid(place, printed, "may only hold up to 2 values");
        return;
    }
    if repeats_family(ranges.as_array().into_iter().flatten()) {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.invalid(place.clone(), ranges, why);
    }
}

/// A backend is a service or a resource, and the port of a service has a name or a number.
pub(super) fn backend(value: &Value, at: &str, errors: &mut ErrorList) {
    let (service, resource) = (&value["service"], &value["resource"]);
    match (is_set(service), is_set(resource)) {
        (true, true) => errors.invalid(at, "\"\"", "cannot set both resource and service backends"),
        (false, false) => errors.invalid(at, "\"\"", "resource or service backend is required"),
        (true, false) => service_backend(service, at, errors),
        (false, true) => resource_backend(resource, &format!("{at}.resource"), errors),
    }
}

fn service_backend(service: &Value, at: &str, errors: &mut ErrorList) {
    let port = &service["port"];
    let (name, number) = (text(port, "name"), port["number"].as_i64().unwrap_or(0));
    if !name.is_empty() && number != 0 {
        errors.invalid(at, "\"\"", "cannot set both port name & port number");
        return;
    }
    let mut judge = |problem: fn(&str) -> Option<String>, value: &Value, place: String| {
        errors.problem(place, value, problem(value.as_str().unwrap_or_default()));
    };
    if !text(service, "name").is_empty() {
        judge(names::dns_label, &service["name"], format!("{at}.service.name"));
    }
    if !name.is_empty() {
        judge(formats::port_name, &port["name"], format!("{at}.service.port.name"));
    }
    if text(service, "name").is_empty() {
        errors.required(format!("{at}.service.name"), "");
    }
    if name.is_empty() && number == 0 {
        errors.required(at, "port name or number is required");
    } else if number != 0 && !(1..=65_535).contains(&number) {
        let why = "must be between 1 and 65535, inclusive";
        errors.invalid(format!("{at}.service.port.number"), &port["number"], why);
    }
}

fn resource_backend(resource: &Value, at: &str, errors: &mut ErrorList) {
    if let Some(group) = resource["apiGroup"].as_str()
        && let Some(why) = names::subdomain(group)
    {
        errors.invalid(format!("{at}.apiGroup"), &resource["apiGroup"], &why);
    }
    for member in ["kind", "name"] {
        match text(resource, member) {
            "" => errors.required(format!("{at}.{member}"), ""),
            given => errors.problem(format!("{at}.{member}"), &resource[member], names::path_segment(given)),
        }
    }
}

/// Parameters of a class are in a namespace if their scope says so.
pub(super) fn class_parameters(value: &Value, at: &str, errors: &mut ErrorList) {
    let place = format!("{at}.namespace");
    match (text(value, "scope"), is_set(&value["namespace"])) {
        ("Namespace", false) => errors.required(place, "`parameters.scope` is set to 'Namespace'"),
        ("Cluster", true) => errors.forbidden(place, "`parameters.scope` is set to 'Cluster'"),
        _ => {}
    }
}

pub(super) fn peer(value: &Value, at: &str, errors: &mut ErrorList) {
    let selects = is_set(&value["podSelector"]) || is_set(&value["namespaceSelector"]);
    if is_set(&value["ipBlock"]) && selects {
        errors.forbidden(at, "may not specify both ipBlock and another peer");
    } else if value["ipBlock"].is_null() && !selects {
        errors.required(at, "must specify a peer");
    }
}

pub(super) fn policy_port(value: &Value, at: &str, errors: &mut ErrorList) {
    let Some(end) = value["endPort"].as_i64() else { return };
    let place = format!("{at}.endPort");
    match value["port"].as_i64() {
        Some(port) if end < port => {
            errors.invalid(place, &value["endPort"], "must be greater than or equal to `port`")
        }
        Some(_) => {}
        None if value["port"].is_null() => {
            errors.invalid(place, &value["endPort"], "may not be specified when `port` is not specified")
        }
        None => errors.invalid(place, &value["endPort"], "may not be specified when `port` is non-numeric"),
    }
}
