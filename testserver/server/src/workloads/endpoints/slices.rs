//! EndpointSlices: the endpoints of a service by their ports, at most 100 in a slice.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value, json};

use super::backends::{Backend, HEADLESS, TRIGGERED, is_headless};
use crate::{object::meta, workloads::template::controller_reference};

/// The label that names the service of a slice.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const OF_PODS: &str = "endpointslice-controller.k8s.io";
const OF_ENDPOINTS: &str = "endpointslicemirroring-controller.k8s.io";
const SKIP_MIRROR: &str = "endpointslice.kubernetes.io/skip-mirror";
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const MAX_ENDPOINTS: usize = 100;

/// The writes that bring the slices of one owner up to date.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SlicePlan {
    pub(crate) create: Vec<Value>,
    /// New versions, by index in the list of slices.
    pub(crate) update: Vec<(usize, Value)>,
    /// Indexes in the list of slices.
    pub(crate) delete: Vec<usize>,
}

/// The slices of one address type and one list of ports.
struct Group {
    address_type: &'static str,
    ports: Value,
    endpoints: Vec<Value>,
}

/// Plans the slices for the pods behind a service; `slices` are those that it owns.
pub(crate) fn plan_slices(service: &Value, backends: &[Backend], slices: &[Arc<Value>]) -> SlicePlan {
    let publish = service["spec"]["publishNotReadyAddresses"] == true;
    let families = service["spec"]["ipFamilies"].as_array().map_or(&[][..], Vec::as_slice);
    let types: Vec<&str> =
        match families.iter().filter_map(Value::as_str).map(address_type).collect::<Vec<_>>() {
            none if none.is_empty() => vec!["IPv4"],
            some => some,
        };
    let mut groups: Vec<Group> = Vec::new();
    for address_type in types {
        for backend in backends {
            let mut addresses = backend.addresses.iter().filter(|ip| type_of(ip) == address_type);
            let Some(address) = addresses.next() else { continue };
            let ports = slice_ports(&backend.ports);
            add(&mut groups, address_type, ports, endpoint(backend, address, publish));
        }
        // A service without pods has an empty slice.
        if !groups.iter().any(|group| group.address_type == address_type) {
            groups.push(Group { address_type, ports: Value::Null, endpoints: Vec::new() });
        }
    }
    let mut labels = service["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.remove(HEADLESS);
    if is_headless(service) {
        labels.insert(HEADLESS.into(), "".into());
    }
    let annotations = json!({TRIGGERED: service["metadata"]["creationTimestamp"]});
    fill(groups, slices, &Head { owner: service, manager: OF_PODS, labels, annotations })
}

/// Plans the slices for Endpoints that a user wrote; `slices` are those that they own.
pub(crate) fn plan_mirror(endpoints: &Value, slices: &[Arc<Value>]) -> SlicePlan {
    let mut groups = Vec::new();
    let skipped = endpoints["metadata"]["labels"][SKIP_MIRROR] == "true";
    for subset in endpoints["subsets"].as_array().into_iter().flatten().filter(|_| !skipped) {
        let ports = slice_ports(subset["ports"].as_array().map_or(&[], Vec::as_slice));
        for (field, ready) in [("addresses", true), ("notReadyAddresses", false)] {
            for address in subset[field].as_array().into_iter().flatten() {
                let ip = address["ip"].as_str().unwrap_or_default();
                let mut endpoint = json!({"addresses": [ip], "conditions": {"ready": ready}});
                for field in ["hostname", "nodeName", "targetRef"] {
                    if !address[field].is_null() {
                        endpoint[field] = address[field].clone();
                    }
                }
                add(&mut groups, type_of(ip), ports.clone(), endpoint);
            }
        }
    }
    let labels = endpoints["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    let mut annotations = endpoints["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    annotations.retain(|name, _| ![APPLIED, TRIGGERED].contains(&name.as_str()));
    let annotations = annotations.into();
    fill(groups, slices, &Head { owner: endpoints, manager: OF_ENDPOINTS, labels, annotations })
}

fn address_type(family: &str) -> &'static str {
    if family == "IPv6" { "IPv6" } else { "IPv4" }
}

fn type_of(ip: &str) -> &'static str {
    if ip.contains(':') { "IPv6" } else { "IPv4" }
}

/// The ports of a slice: a port without a name has an empty one.
fn slice_ports(ports: &[Value]) -> Value {
    let named = ports.iter().map(|port| {
        let mut port = port.clone();
        if port["name"].is_null() {
            port["name"] = "".into();
        }
        port
    });
    let named: Vec<Value> = named.collect();
    if named.is_empty() { Value::Null } else { named.into() }
}

fn endpoint(backend: &Backend, address: &str, publish: bool) -> Value {
    let ready = publish || (backend.ready && !backend.terminating);
    let mut endpoint = json!({"addresses": [address], "targetRef": backend.target,
        "conditions": {"ready": ready, "serving": backend.ready, "terminating": backend.terminating}});
    let fields = [("nodeName", &backend.node), ("zone", &backend.zone), ("hostname", &backend.hostname)];
    for (field, value) in fields {
        if let Some(value) = value {
            endpoint[field] = value.as_str().into();
        }
    }
    endpoint
}

fn add(groups: &mut Vec<Group>, address_type: &'static str, ports: Value, endpoint: Value) {
    match groups.iter_mut().find(|group| group.address_type == address_type && group.ports == ports) {
        Some(group) => group.endpoints.push(endpoint),
        None => groups.push(Group { address_type, ports, endpoints: vec![endpoint] }),
    }
}

/// What all slices of an owner have in common.
struct Head<'a> {
    owner: &'a Value,
    manager: &'static str,
    labels: Map<String, Value>,
    annotations: Value,
}

impl Head<'_> {
    fn labels(&self) -> Value {
        let mut labels = self.labels.clone();
        labels.insert(SERVICE_NAME.into(), self.owner["metadata"]["name"].clone());
        labels.insert(MANAGED_BY.into(), self.manager.into());
        labels.into()
    }

    fn slice(&self, group: &Group, endpoints: Vec<Value>) -> Value {
        let metadata = &self.owner["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "generateName": format!("{name}-"),
                "namespace": metadata["namespace"],
                "labels": self.labels(),
                "annotations": self.annotations,
                "ownerReferences": [controller_reference(self.owner)],
            },
            "addressType": group.address_type,
            "endpoints": list(endpoints),
            "ports": group.ports,
        })
    }
}

/// An empty list is absent, as Go prints one that nobody made.
fn list(items: Vec<Value>) -> Value {
    if items.is_empty() { Value::Null } else { items.into() }
}

/// How the endpoints of a group are distributed.
struct Filling {
    group: Group,
    /// The endpoints of slices that have some already, by the index of the slice.
    used: Vec<(usize, Vec<Value>)>,
    /// Those for which there is no room.
    left: Vec<Value>,
}

/// Distributes the endpoints: each stays in its slice, others fill the room that is left, then slices that have become empty, then new
/// ones.
fn fill(groups: Vec<Group>, slices: &[Arc<Value>], head: &Head<'_>) -> SlicePlan {
    let own = |slice: &Value| slice["metadata"]["labels"][MANAGED_BY] == head.manager;
    let mut spare: Vec<usize> = (0..slices.len()).filter(|at| own(&slices[*at])).collect();
    let filled: Vec<Filling> =
        groups.into_iter().map(|group| fill_group(group, slices, &mut spare)).collect();
    let mut plan = SlicePlan::default();
    for Filling { group, mut used, left } in filled {
        let mut chunks: Vec<Vec<Value>> = left.chunks(MAX_ENDPOINTS).map(<[Value]>::to_vec).collect();
        if used.is_empty() && chunks.is_empty() {
            chunks.push(Vec::new());
        }
        for chunk in chunks {
            match spare.iter().position(|at| slices[*at]["addressType"] == group.address_type) {
                Some(first) => used.push((spare.remove(first), chunk)),
                None => plan.create.push(head.slice(&group, chunk)),
            }
        }
        for (at, endpoints) in used {
            let mut slice = Value::clone(&slices[at]);
            slice["metadata"]["labels"] = head.labels();
            if head.manager == OF_ENDPOINTS {
                meta::set(&mut slice, "annotations", head.annotations.clone());
                meta::drop_empty(&mut slice);
            }
            slice["endpoints"] = list(endpoints);
            slice["ports"] = group.ports.clone();
            if slice != *slices[at] {
                let generation = slice["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
                meta::set(&mut slice, "generation", generation);
                plan.update.push((at, slice));
            }
        }
    }
    plan.delete = spare;
    plan
}

/// Keeps the endpoints of a group in their slices, which are not spare any more, and fills those.
fn fill_group(mut group: Group, slices: &[Arc<Value>], spare: &mut Vec<usize>) -> Filling {
    let mut waiting: HashMap<String, Value> = HashMap::new();
    let mut order = Vec::new();
    for endpoint in std::mem::take(&mut group.endpoints) {
        let identity = identity(&endpoint);
        if waiting.insert(identity.clone(), endpoint).is_none() {
            order.push(identity);
        }
    }
    let placeholder = order.is_empty();
    let mut used = Vec::new();
    spare.retain(|at| {
        let slice = &slices[*at];
        if slice["addressType"] != group.address_type || slice["ports"] != group.ports {
            return true;
        }
        let endpoints = slice["endpoints"].as_array().into_iter().flatten();
        let stay: Vec<Value> = endpoints.filter_map(|old| waiting.remove(&identity(old))).collect();
        let is_used = !stay.is_empty() || (placeholder && used.is_empty());
        if is_used {
            used.push((*at, stay));
        }
        !is_used
    });
    let mut left = order.into_iter().filter_map(|identity| waiting.remove(&identity));
    for (_, endpoints) in &mut used {
        endpoints.extend(left.by_ref().take(MAX_ENDPOINTS.saturating_sub(endpoints.len())));
    }
    let left: Vec<Value> = left.collect();
    Filling { group, used, left }
}

/// What an endpoint is about: pods on the network of their node share addresses.
fn identity(endpoint: &Value) -> String {
    format!("{} {}", endpoint["addresses"], endpoint["targetRef"]["uid"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(name: &str, port: u16, ready: bool) -> Backend {
        Backend {
            addresses: vec![format!("10.1.0.{name}")],
            hostname: None,
            node: Some("node".into()),
            node_known: true,
            zone: None,
            target: json!({"kind": "Pod", "name": name, "uid": name}),
            ready,
            terminating: false,
            ports: vec![json!({"port": port, "protocol": "TCP"})],
        }
    }

    fn service() -> Value {
        json!({"metadata": {"name": "s", "namespace": "n", "uid": "u", "labels": {"team": "x"}, "creationTimestamp": "t"},
            "spec": {"clusterIP": "10.0.0.9", "ipFamilies": ["IPv4"]}})
    }

    /// Carries out a plan.
    fn applied(mut slices: Vec<Arc<Value>>, plan: SlicePlan) -> Vec<Arc<Value>> {
        for (at, slice) in plan.update {
            slices[at] = slice.into();
        }
        for at in plan.delete.into_iter().rev() {
            slices.remove(at);
        }
        slices.extend(plan.create.into_iter().map(Arc::new));
        slices
    }

    fn sizes(slices: &[Arc<Value>]) -> Vec<usize> {
        slices.iter().map(|slice| slice["endpoints"].as_array().map_or(0, Vec::len)).collect()
    }

    #[test]
    fn a_service_without_pods_has_one_empty_slice_that_is_used_again() {
        let mut slices = Vec::new();
        let plan = plan_slices(&service(), &[], &slices);
        slices = applied(slices, plan);
        let labels = json!({"team": "x", SERVICE_NAME: "s", MANAGED_BY: OF_PODS});
        assert_eq!((&slices[0]["metadata"]["labels"], &slices[0]["ports"]), (&labels, &Value::Null));
        assert_eq!(plan_slices(&service(), &[], &slices), SlicePlan::default());
        let plan = plan_slices(&service(), &[backend("1", 80, true)], &slices);
        slices = applied(slices, plan);
        assert_eq!(
            (slices.len(), &slices[0]["ports"]),
            (1, &json!([{"name": "", "port": 80, "protocol": "TCP"}]))
        );
        let expected = json!({"addresses": ["10.1.0.1"], "nodeName": "node",
            "targetRef": {"kind": "Pod", "name": "1", "uid": "1"},
            "conditions": {"ready": true, "serving": true, "terminating": false}});
        assert_eq!(slices[0]["endpoints"][0], expected);
        let plan = plan_slices(&service(), &[], &slices);
        slices = applied(slices, plan);
        assert_eq!((sizes(&slices), &slices[0]["ports"]), (vec![0], &Value::Null));
    }

    #[test]
    fn endpoints_stay_in_their_slices() {
        let mut slices = Vec::new();
        let names: Vec<String> = (0..150).map(|n| n.to_string()).collect();
        let mut backends: Vec<Backend> = names.iter().map(|name| backend(name, 80, true)).collect();
        let plan = plan_slices(&service(), &backends, &slices);
        slices = applied(slices, plan);
        assert_eq!(sizes(&slices), [100, 50]);
        backends[120].ready = false;
        let plan = plan_slices(&service(), &backends, &slices);
        assert_eq!((plan.create.len(), plan.delete.len(), plan.update[0].0), (0, 0, 1), "one slice changes");
        slices = applied(slices, plan);
        backends.drain(..10);
        backends.extend(["x", "y"].map(|name| backend(name, 80, true)));
        let plan = plan_slices(&service(), &backends, &slices);
        slices = applied(slices, plan);
        assert_eq!(sizes(&slices), [92, 50]);
        backends.truncate(90);
        backends.push(backend("z", 81, true));
        let plan = plan_slices(&service(), &backends, &slices);
        slices = applied(slices, plan);
        assert_eq!(sizes(&slices), [90, 1], "the freed slice has the other port");
        assert_eq!(slices[1]["ports"][0]["port"], 81);
    }

    #[test]
    fn conditions_tell_ready_serving_and_terminating() {
        let mut going = backend("1", 80, true);
        going.terminating = true;
        let conditions_of = |service: &Value, backend: &Backend| {
            let plan = plan_slices(service, std::slice::from_ref(backend), &[]);
            plan.create[0]["endpoints"][0]["conditions"].clone()
        };
        let conditions = |ready: bool, serving: bool, terminating: bool| json!({"ready": ready, "serving": serving, "terminating": terminating});
        assert_eq!(conditions_of(&service(), &going), conditions(false, true, true));
        going.ready = false;
        assert_eq!(conditions_of(&service(), &going), conditions(false, false, true));
        let mut published = service();
        published["spec"]["publishNotReadyAddresses"] = true.into();
        assert_eq!(conditions_of(&published, &going), conditions(true, false, true));
    }

    #[test]
    fn endpoints_of_users_are_mirrored() {
        let mut endpoints = json!({"metadata": {"name": "e", "namespace": "n", "uid": "u",
                "labels": {"l": "1"}, "annotations": {"q": "w", APPLIED: "{}"}},
            "subsets": [{"addresses": [{"ip": "10.1.1.1"}, {"ip": "10.1.1.2", "hostname": "hn"}],
                "notReadyAddresses": [{"ip": "10.1.1.3"}], "ports": [{"name": "x", "port": 80, "protocol": "TCP"}]},
                {"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 8080, "protocol": "TCP"}]}]});
        let mut slices = Vec::new();
        let plan = plan_mirror(&endpoints, &slices);
        slices = applied(slices, plan);
        assert_eq!(sizes(&slices), [3, 1]);
        assert_eq!(
            slices[0]["endpoints"][1],
            json!({"addresses": ["10.1.1.2"], "conditions": {"ready": true}, "hostname": "hn"})
        );
        assert_eq!(slices[0]["endpoints"][2]["conditions"], json!({"ready": false}));
        assert_eq!(slices[0]["metadata"]["annotations"], json!({"q": "w"}));
        assert_eq!(
            slices[0]["metadata"]["labels"],
            json!({"l": "1", SERVICE_NAME: "e", MANAGED_BY: OF_ENDPOINTS})
        );
        assert_eq!((&slices[1]["addressType"], &slices[1]["ports"][0]["name"]), (&json!("IPv6"), &json!("")));
        endpoints["metadata"]["labels"][SKIP_MIRROR] = "true".into();
        let plan = plan_mirror(&endpoints, &slices);
        slices = applied(slices, plan);
        assert!(slices.is_empty());
    }
}
