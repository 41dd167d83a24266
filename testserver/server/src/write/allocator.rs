//! Allocates cluster IPs and node ports of services.

use std::{collections::HashMap, net::IpAddr};

use serde_json::{Value, json};

use crate::{
    object::addresses::ServiceRange,
    schema::{ErrorList, FieldError},
    scheme::Resource,
    storage::{Change, Key, Stored},
    strategy,
};

/// The node port range of services.
const NODE_PORTS: std::ops::RangeInclusive<u64> = 30_000..=32_767;

/// The cluster IPs and node ports of all services; no two services share one.
#[derive(Debug, Default)]
pub(crate) struct ServiceAllocator {
    range: ServiceRange,
    /// What ready ServiceCIDRs add to it.
    more: HashMap<Key, Vec<ServiceRange>>,
    ips: HashMap<String, Key>,
    /// Keyed by number and protocol.
    ports: HashMap<(u64, String), Key>,
}

impl ServiceAllocator {
    pub(crate) fn new(range: ServiceRange) -> Self {
        Self { range, ..Self::default() }
    }

    /// Forgets all objects.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.range);
    }

    pub(crate) fn range(&self) -> ServiceRange {
        self.range
    }

    /// Records a change of an object, if it is a service or a range of addresses.
    pub(crate) fn observe(&mut self, resource: &Resource, change: &Change) {
        self.record_object(resource, &change.object.key, change.previous.as_deref(), change.after());
    }

    /// Records a restored object.
    pub(crate) fn restore(&mut self, resource: &Resource, stored: &Stored) {
        self.record_object(resource, &stored.key, None, Some(stored));
    }

    fn record_object(
        &mut self,
        resource: &Resource,
        key: &Key,
        before: Option<&Stored>,
        after: Option<&Stored>,
    ) {
        if resource.is("", "services") {
            let (before, after) = (before.map(Stored::value), after.map(Stored::value));
            self.record(key, before.as_ref(), after.as_ref());
        } else if resource.is("networking.k8s.io", "servicecidrs") {
            let ranges = after.map(|after| ready_ranges(&after.value())).unwrap_or_default();
            self.more.insert(key.clone(), ranges);
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

    /// Sets the address of a service that has none, and replaces generated ports that are taken by free ones. Returns an error for each
    /// `requested` value that is taken or out of range. What the `old` service has is not judged again.
    pub(crate) fn allocate(
        &self,
        key: &Key,
        (old, requested): (&Value, &Value),
        service: &mut Value,
    ) -> ErrorList {
        let mut errors = ErrorList::default();
        if service["spec"]["type"] == "ExternalName" {
            return errors;
        }
        let spec = &service["spec"];
        let prepared =
            spec["clusterIP"] == "None" && spec["selector"].as_object().is_none_or(serde_json::Map::is_empty);
        let policy = &spec["ipFamilyPolicy"];
        if *policy == "RequireDualStack" && old["spec"]["ipFamilyPolicy"] != *policy && !prepared {
            let why = "this cluster is not configured for dual-stack services";
            errors.invalid("spec.ipFamilyPolicy", policy, why);
        }
        match spec["clusterIP"].as_str().unwrap_or_default() {
            // A list without the first address is refused.
            "" if spec["clusterIPs"][0].is_string() => {}
            "" => self.choose_ip(service, &mut errors),
            "None" => {}
            ip if old["spec"]["clusterIP"] == ip => {}
            ip => self.check_ip(key, ip, &mut errors),
        }
        self.allocate_ports(key, (old, requested), service, &mut errors);
        errors
    }

    fn ranges(&self) -> impl Iterator<Item = ServiceRange> {
        std::iter::once(self.range).chain(self.more.values().flatten().copied())
    }

    /// The address follows from the uid.
    fn choose_ip(&self, service: &mut Value, errors: &mut ErrorList) {
        let start = strategy::number(service);
        let mut addresses = self.ranges().flat_map(|range| range.addresses(start)).map(|ip| ip.to_string());
        match addresses.find(|ip| !self.ips.contains_key(ip)) {
            Some(free) => {
                service["spec"]["clusterIPs"] = json!([free]);
                service["spec"]["clusterIP"] = free.into();
            }
            None => errors.invalid("spec.clusterIP", "\"\"", "failed to allocate a serviceIP: range is full"),
        }
    }

    fn check_ip(&self, key: &Key, ip: &str, errors: &mut ErrorList) {
        let list = format!("[{ip:?}]");
        let parsed = match ip.parse() {
            Ok(IpAddr::V4(parsed)) => parsed,
            Ok(IpAddr::V6(_)) => {
                return errors.invalid("spec.clusterIPs[0]", list, "IPv6 is not configured on this cluster");
            }
            // Validation says what is wrong.
            Err(_) => return,
        };
        let is_usable = |range: ServiceRange| range.contains(parsed) && !range.reserves(parsed);
        let why = if !self.ranges().any(is_usable) {
            let range = self.range;
            format!("the provided IP ({ip}) is not in the valid range. The range of valid IPs is {range}")
        } else if self.ips.get(ip).is_some_and(|owner| owner != key) {
            "provided IP is already allocated".to_owned()
        } else {
            return;
        };
        errors.invalid("spec.clusterIPs", list, &format!("failed to allocate IP {ip}: {why}"));
    }

    fn allocate_ports(
        &self,
        key: &Key,
        (old, requested): (&Value, &Value),
        service: &mut Value,
        errors: &mut ErrorList,
    ) {
        let taken = |owner: Option<&Key>| owner.is_some_and(|owner| owner != key);
        let is_kept = |port: &(u64, String)| ports_of(old).any(|former| former == *port);
        let mut own: Vec<(u64, String)> = Vec::new();
        for at in 0..service["spec"]["ports"].as_array().map_or(0, Vec::len) {
            let Some((number, protocol)) = port_of(&service["spec"]["ports"][at]) else { continue };
            let is_requested = requested["ports"][at]["nodePort"] == number;
            if is_requested && requested["allocateLoadBalancerNodePorts"] == false {
                continue;
            }
            let is_new = !is_kept(&(number, protocol.clone()));
            let free = |number: u64| {
                let port = (number, protocol.clone());
                !taken(self.ports.get(&port)) && !own.contains(&port)
            };
            let refused = |why: &str| {
                FieldError::invalid(format!("spec.ports[{at}].nodePort"), number.to_string(), why)
            };
            let mut provided = number;
            if is_requested && is_new && !NODE_PORTS.contains(&number) {
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

fn ready_ranges(service_cidr: &Value) -> Vec<ServiceRange> {
    let conditions = service_cidr["status"]["conditions"].as_array().into_iter().flatten();
    let is_ready = conditions.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True");
    let ranges = service_cidr["spec"]["cidrs"].as_array().into_iter().flatten().filter(|_| is_ready);
    ranges.filter_map(|range| range.as_str()?.parse().ok()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn service(ip: &str, port: u64) -> Value {
        json!({"spec": {"clusterIP": ip, "clusterIPs": [ip], "ports": [{"port": 80, "protocol": "TCP", "nodePort": port}]}})
    }

    const NEW: &Value = &Value::Null;

    #[test]
    fn taken_generated_values_move_on_and_taken_requests_are_refused() {
        let mut addresses = ServiceAllocator::new("10.1.0.0/30".parse().unwrap());
        let (one, other) = (Key::new(Some("n"), "one"), Key::new(Some("n"), "other"));
        let first = service("10.1.0.1", 32_767);
        addresses.record(&one, None, Some(&first));
        assert_eq!(*addresses.allocate(&one, (&first, NEW), &mut first.clone()), [], "its own");
        let mut second = json!({"spec": {"ports": first["spec"]["ports"].clone()}});
        assert_eq!(*addresses.allocate(&other, (NEW, &json!({})), &mut second), []);
        assert_eq!(second, service("10.1.0.2", 30_000));
        addresses.record(&other, None, Some(&second));
        let full = addresses.allocate(&Key::new(None, "third"), (NEW, NEW), &mut json!({"spec": {}}));
        assert!(full[0].message.contains("range is full"), "{full:?}");
        let refused = addresses.allocate(&other, (NEW, &first["spec"]), &mut first.clone());
        assert_eq!(
            refused[0].to_string(),
            "spec.clusterIPs: Invalid value: [\"10.1.0.1\"]: failed to allocate IP 10.1.0.1: provided IP is already allocated"
        );
        assert_eq!(
            refused[1].to_string(),
            "spec.ports[0].nodePort: Invalid value: 32767: provided port is already allocated"
        );
        addresses.record(&one, Some(&first), None);
        assert_eq!(*addresses.allocate(&other, (NEW, &first["spec"]), &mut first.clone()), []);
    }

    #[test]
    fn what_a_service_has_is_not_judged_again() {
        let addresses = ServiceAllocator::default();
        let key = Key::new(Some("n"), "a");
        let mut foreign = service("172.20.0.10", 80);
        foreign["spec"]["ipFamilyPolicy"] = "RequireDualStack".into();
        let refused = addresses.allocate(&key, (NEW, &foreign["spec"]), &mut foreign.clone());
        let fields: Vec<&str> = refused.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["spec.ipFamilyPolicy", "spec.clusterIPs", "spec.ports[0].nodePort"]);
        assert_eq!(*addresses.allocate(&key, (&foreign, &foreign["spec"]), &mut foreign.clone()), []);
    }

    #[test]
    fn a_node_port_occurs_once_per_service() {
        let mut twice = json!({"spec": {"ports": [{"nodePort": 30_001}, {"nodePort": 30_001}, {"nodePort": 30_001, "protocol": "UDP"}]}});
        let requested = twice["spec"].clone();
        let key = Key::new(Some("n"), "a");
        let refused = ServiceAllocator::default().allocate(&key, (NEW, &requested), &mut twice.clone());
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(
            (refused[0].field.as_str(), refused[0].reason),
            ("spec.ports[1].nodePort", "FieldValueInvalid")
        );
        assert_eq!(*ServiceAllocator::default().allocate(&key, (NEW, &json!({})), &mut twice), []);
        assert_eq!(twice["spec"]["ports"][1]["nodePort"], 30_002);
    }
}
