//! Allocates cluster IPs and node ports of services.

use std::{collections::HashMap, net::Ipv4Addr};

use serde_json::{Value, json};

use crate::{
    schema::{ErrorList, FieldError},
    scheme::Resource,
    storage::{Change, Key, Stored},
};

/// The node port range of services.
const NODE_PORTS: std::ops::RangeInclusive<u64> = 30_000..=32_767;

/// How the addresses of services begin.
const RANGE: &str = "10.";

/// The cluster IPs and node ports of all services; no two services share one.
#[derive(Debug, Default)]
pub(crate) struct ServiceAllocator {
    ips: HashMap<String, Key>,
    /// Keyed by number and protocol.
    ports: HashMap<(u64, String), Key>,
}

impl ServiceAllocator {
    /// Records a change of an object, if it is a service.
    pub(crate) fn observe(&mut self, resource: &Resource, change: &Change) {
        if resource.is("", "services") {
            let (before, after) = (change.previous.as_deref(), change.after());
            let (before, after) = (before.map(Stored::value), after.map(Stored::value));
            self.record(&change.object.key, before.as_ref(), after.as_ref());
        }
    }

    /// Records a restored object, if it is a service.
    pub(crate) fn restore(&mut self, resource: &Resource, stored: &Stored) {
        if resource.is("", "services") {
            self.record(&stored.key, None, Some(&stored.value()));
        }
    }

    fn record(&mut self, key: &Key, before: Option<&Value>, after: Option<&Value>) {
        if let Some(ip) = before.and_then(ip_of) {
            self.ips.remove(ip);
        }
        for port in before.into_iter().flat_map(ports_of) {
            self.ports.remove(&port);
        }
        if let Some(ip) = after.and_then(ip_of) {
            self.ips.insert(ip.into(), key.clone());
        }
        for port in after.into_iter().flat_map(ports_of) {
            self.ports.insert(port, key.clone());
        }
    }

    /// Replaces generated values that are taken by free ones. Returns an error for each `requested` value that is taken or out of range.
    pub(crate) fn allocate(&self, key: &Key, requested: &Value, service: &mut Value) -> ErrorList {
        let mut errors = ErrorList::default();
        if service["spec"]["type"] == "ExternalName" {
            return errors;
        }
        let spec = &service["spec"];
        let prepared =
            spec["clusterIP"] == "None" && spec["selector"].as_object().is_none_or(serde_json::Map::is_empty);
        if spec["ipFamilyPolicy"] == "RequireDualStack" && !prepared {
            let why = "this cluster is not configured for dual-stack services";
            errors.invalid("spec.ipFamilyPolicy", &spec["ipFamilyPolicy"], why);
        }
        self.allocate_ip(key, requested, service, &mut errors);
        self.allocate_ports(key, requested, service, &mut errors);
        errors
    }

    fn allocate_ip(&self, key: &Key, requested: &Value, service: &mut Value, errors: &mut ErrorList) {
        let taken = |owner: Option<&Key>| owner.is_some_and(|owner| owner != key);
        if let Some(ip) = ip_of(service).filter(|ip| requested["clusterIP"] == *ip && is_outside(ip)) {
            let why =
                format!("failed to allocate IP {ip}: the provided network does not match the current range");
            errors.invalid("spec.clusterIPs", format!("[{ip:?}]"), &why);
        }
        if let Some(ip) = ip_of(service).map(str::to_owned).filter(|ip| taken(self.ips.get(ip))) {
            if requested["clusterIP"] == ip.as_str() {
                let list = format!("[{ip:?}]");
                let why = format!("failed to allocate IP {ip}: provided IP is already allocated");
                errors.invalid("spec.clusterIPs", list, &why);
            } else if let Some(free) = following(&ip).find(|ip| !taken(self.ips.get(ip))) {
                service["spec"]["clusterIPs"] = json!([free]);
                service["spec"]["clusterIP"] = free.into();
            }
        }
    }

    fn allocate_ports(&self, key: &Key, requested: &Value, service: &mut Value, errors: &mut ErrorList) {
        let taken = |owner: Option<&Key>| owner.is_some_and(|owner| owner != key);
        let mut own: Vec<(u64, String)> = Vec::new();
        for at in 0..service["spec"]["ports"].as_array().map_or(0, Vec::len) {
            let Some((number, protocol)) = port_of(&service["spec"]["ports"][at]) else { continue };
            let is_requested = requested["ports"][at]["nodePort"] == number;
            if is_requested && requested["allocateLoadBalancerNodePorts"] == false {
                continue;
            }
            let free = |number: u64| {
                let port = (number, protocol.clone());
                !taken(self.ports.get(&port)) && !own.contains(&port)
            };
            let refused = |why: &str| {
                FieldError::invalid(format!("spec.ports[{at}].nodePort"), number.to_string(), why)
            };
            let mut provided = number;
            if is_requested && !NODE_PORTS.contains(&number) {
                let why = "provided port is not in the valid range. The range of valid ports is 30000-32767";
                errors.push(refused(why));
            } else if is_requested && !free(number) {
                errors.push(refused("provided port is already allocated"));
            } else if !is_requested
                && let Some(next) = (number..=*NODE_PORTS.end()).chain(NODE_PORTS).find(|port| free(*port))
            {
                service["spec"]["ports"][at]["nodePort"] = next.into();
                provided = next;
            }
            own.push((provided, protocol));
        }
        if let Some(number) = health_port(service) {
            let free = |number: u64| {
                let port = (number, "TCP".to_owned());
                !taken(self.ports.get(&port)) && !own.contains(&port)
            };
            if requested["healthCheckNodePort"] == number {
                if !free(number) {
                    errors.invalid("spec.healthCheckNodePort", number, "provided port is already allocated");
                }
            } else if let Some(next) = (number..=*NODE_PORTS.end()).chain(NODE_PORTS).find(|port| free(*port))
            {
                service["spec"]["healthCheckNodePort"] = next.into();
            }
        }
    }
}

fn is_outside(ip: &str) -> bool {
    !ip.starts_with(RANGE) && ip.parse::<Ipv4Addr>().is_ok()
}

/// The cluster IP, unless the service is headless or has none yet.
fn ip_of(service: &Value) -> Option<&str> {
    service["spec"]["clusterIP"].as_str().filter(|ip| !matches!(*ip, "" | "None"))
}

fn ports_of(service: &Value) -> impl Iterator<Item = (u64, String)> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten().filter_map(port_of);
    ports.chain(health_port(service).map(|number| (number, "TCP".to_owned())))
}

/// The port at which nodes tell load balancers their health.
fn health_port(service: &Value) -> Option<u64> {
    service["spec"]["healthCheckNodePort"].as_u64().filter(|number| *number > 0)
}

fn port_of(port: &Value) -> Option<(u64, String)> {
    let number = port["nodePort"].as_u64().filter(|number| *number > 0)?;
    Some((number, port["protocol"].as_str().unwrap_or("TCP").into()))
}

/// The addresses after this one in the same /8 network.
fn following(ip: &str) -> impl Iterator<Item = String> {
    let octets: Vec<u32> = ip.split('.').filter_map(|part| part.parse().ok()).collect();
    let number = octets.iter().fold(0u32, |number, octet| (number << 8) | octet);
    (1..0x00ff_ffff).filter_map(move |more| {
        let [a, b, c, d] = (number & 0xff00_0000 | number.wrapping_add(more) & 0x00ff_ffff).to_be_bytes();
        // Skips network and broadcast addresses.
        (1..255).contains(&d).then(|| format!("{a}.{b}.{c}.{d}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(ip: &str, port: u64) -> Value {
        json!({"spec": {"clusterIP": ip, "clusterIPs": [ip], "ports": [{"port": 80, "protocol": "TCP", "nodePort": port}]}})
    }

    #[test]
    fn taken_generated_values_move_on_and_taken_requests_are_refused() {
        let mut addresses = ServiceAllocator::default();
        let (one, other) = (Key::new(Some("n"), "one"), Key::new(Some("n"), "other"));
        let first = service("10.1.2.254", 32_767);
        addresses.record(&one, None, Some(&first));
        let mut second = first.clone();
        assert_eq!(*addresses.allocate(&one, &Value::Null, &mut second), [], "its own");
        assert_eq!(*addresses.allocate(&other, &json!({}), &mut second), []);
        assert_eq!(second, service("10.1.3.1", 30_000));
        let refused = addresses.allocate(&other, &first["spec"], &mut first.clone());
        assert_eq!(
            refused[0].to_string(),
            "spec.clusterIPs: Invalid value: [\"10.1.2.254\"]: failed to allocate IP 10.1.2.254: provided IP is already allocated"
        );
        assert_eq!(
            refused[1].to_string(),
            "spec.ports[0].nodePort: Invalid value: 32767: provided port is already allocated"
        );
        addresses.record(&one, Some(&first), None);
        assert_eq!(*addresses.allocate(&other, &first["spec"], &mut first.clone()), []);
        let far = service("10.0.0.1", 80);
        assert!(
            addresses.allocate(&other, &far["spec"], &mut far.clone())[0]
                .message
                .contains("not in the valid range")
        );
    }

    #[test]
    fn a_node_port_occurs_once_per_service() {
        let mut twice = json!({"spec": {"ports": [{"nodePort": 30_001}, {"nodePort": 30_001}, {"nodePort": 30_001, "protocol": "UDP"}]}});
        let requested = twice["spec"].clone();
        let key = Key::new(Some("n"), "a");
        let refused = ServiceAllocator::default().allocate(&key, &requested, &mut twice.clone());
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(
            (refused[0].field.as_str(), refused[0].reason),
            ("spec.ports[1].nodePort", "FieldValueInvalid")
        );
        assert_eq!(*ServiceAllocator::default().allocate(&key, &json!({}), &mut twice), []);
        assert_eq!(twice["spec"]["ports"][1]["nodePort"], 30_002);
    }
}
