//! The pods behind a service, and the Endpoints that list them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::workloads::pod::Pod;

/// Labels of Endpoints and of EndpointSlices.
pub(super) const HEADLESS: &str = "service.kubernetes.io/headless";
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
pub(super) const TRIGGERED: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// A pod that a service selects, as its endpoints show it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Backend {
    pub(super) addresses: Vec<String>,
    pub(super) hostname: Option<String>,
    pub(super) node: Option<String>,
    /// Whether its node exists.
    pub(crate) node_known: bool,
    pub(super) zone: Option<String>,
    pub(super) target: Value,
    pub(super) ready: bool,
    pub(super) terminating: bool,
    /// The ports of the service that this pod has.
    pub(super) ports: Vec<Value>,
}

/// The pod behind a service; `None` while it has no address, and once its containers have ended. `zone` is the one of its node, if the node
/// exists.
pub(crate) fn backend(service: &Value, states: &Pod, zone: Option<Option<String>>) -> Option<Backend> {
    let pod = &states.object;
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let listed = status["podIPs"].as_array().into_iter().flatten().map(|ip| &ip["ip"]);
    let mut addresses: Vec<String> = listed.filter_map(|ip| ip.as_str().map(Into::into)).collect();
    if addresses.is_empty() {
        addresses.extend(status["podIP"].as_str().filter(|ip| !ip.is_empty()).map(Into::into));
    }
    if addresses.is_empty() || states.is_over() {
        return None;
    }
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    Some(Backend {
        addresses,
        hostname: text(&spec["hostname"]).filter(|_| spec["subdomain"] == service["metadata"]["name"]),
        node: text(&spec["nodeName"]),
        node_known: zone.is_some(),
        zone: zone.flatten(),
        target: json!({"kind": "Pod", "namespace": pod["metadata"]["namespace"],
            "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}),
        ready: states.is_ready(),
        terminating: states.is_deleting(),
        ports: ports.filter_map(|port| port_of_pod(port, spec)).collect(),
    })
}

/// The port of a pod that a port of a service leads to; `None` if it names a port that the pod does not have.
fn port_of_pod(port: &Value, spec: &Value) -> Option<Value> {
    let protocol = port["protocol"].as_str().unwrap_or("TCP");
    let number = match &port["targetPort"] {
        Value::String(name) => {
            let mut containers = spec["containers"].as_array().into_iter().flatten();
            containers.find_map(|container| {
                let mut ports = container["ports"].as_array()?.iter();
                let named = ports.find(|port| {
                    port["name"] == name.as_str() && port["protocol"].as_str().unwrap_or("TCP") == protocol
                })?;
                named["containerPort"].as_u64()
            })?
        }
        target => target.as_u64().filter(|number| *number > 0).or_else(|| port["port"].as_u64())?,
    };
    let mut target = json!({"port": number, "protocol": protocol});
    for field in ["name", "appProtocol"] {
        if !port[field].is_null() && port[field] != "" {
            target[field] = port[field].clone();
        }
    }
    Some(target)
}

pub(super) fn is_headless(service: &Value) -> bool {
    service["spec"]["clusterIP"] == "None"
}

/// The Endpoints of a service; `former` is what it has. `None` if nothing changes.
pub(crate) fn plan_endpoints(service: &Value, backends: &[Backend], former: Option<&Value>) -> Option<Value> {
    let metadata = &service["metadata"];
    let mut labels = metadata["labels"].as_object().cloned().unwrap_or_default();
    labels.insert(MANAGED_BY.into(), "endpoint-controller".into());
    labels.remove(HEADLESS);
    if is_headless(service) {
        labels.insert(HEADLESS.into(), "".into());
    }
    let subsets = subsets(service, backends);
    let mut endpoints = match former {
        Some(former) => former.clone(),
        None => json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"],
            "annotations": {TRIGGERED: metadata["creationTimestamp"]}}}),
    };
    endpoints["metadata"]["labels"] = labels.into();
    if let Some(endpoints) = endpoints.as_object_mut() {
        if subsets.is_empty() {
            endpoints.remove("subsets");
        } else {
            endpoints.insert("subsets".into(), subsets.into());
        }
    }
    (former != Some(&endpoints)).then_some(endpoints)
}

/// Groups the addresses of each port: ports with the same addresses share a subset.
fn subsets(service: &Value, backends: &[Backend]) -> Vec<Value> {
    let publish = service["spec"]["publishNotReadyAddresses"] == true;
    let has_ports = service["spec"]["ports"].as_array().is_some_and(|ports| !ports.is_empty());
    let listed = backends.iter().enumerate().filter(|(_, backend)| publish || !backend.terminating);
    let mut ports: Vec<(Option<&Value>, BTreeSet<usize>)> = Vec::new();
    for (at, backend) in listed {
        let own: Vec<Option<&Value>> = match has_ports {
            true => backend.ports.iter().map(Some).collect(),
            false => vec![None],
        };
        for port in own {
            match ports.iter_mut().find(|(other, _)| *other == port) {
                Some((_, addresses)) => drop(addresses.insert(at)),
                None => ports.push((port, [at].into())),
            }
        }
    }
    let mut groups: Vec<(Vec<&Value>, BTreeSet<usize>)> = Vec::new();
    for (port, addresses) in ports {
        match groups.iter_mut().find(|(_, others)| *others == addresses) {
            Some((group, _)) => group.extend(port),
            None => groups.push((port.into_iter().collect(), addresses)),
        }
    }
    let subset = |(ports, addresses): (Vec<&Value>, BTreeSet<usize>)| {
        let (ready, others): (Vec<&Backend>, Vec<&Backend>) =
            addresses.iter().map(|at| &backends[*at]).partition(|backend| publish || backend.ready);
        let list = |backends: Vec<&Backend>| backends.into_iter().map(address).collect::<Vec<_>>();
        let parts = [
            ("addresses", list(ready)),
            ("notReadyAddresses", list(others)),
            ("ports", ports.into_iter().cloned().collect()),
        ];
        let parts = parts.into_iter().filter(|(_, items)| !items.is_empty());
        Value::Object(parts.map(|(name, items)| (name.to_owned(), items.into())).collect::<Map<_, _>>())
    };
    groups.into_iter().map(subset).collect()
}

/// The address of a pod in a subset.
fn address(backend: &Backend) -> Value {
    let mut address = json!({"ip": backend.addresses[0], "targetRef": backend.target});
    for (field, value) in [("nodeName", &backend.node), ("hostname", &backend.hostname)] {
        if let Some(value) = value {
            address[field] = value.as_str().into();
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::pod::read;

    fn service(ports: Value) -> Value {
        json!({"metadata": {"name": "s", "namespace": "n", "labels": {"team": "x"}, "creationTimestamp": "t"},
            "spec": {"clusterIP": "10.0.0.9", "ports": ports}})
    }

    fn pod(name: &str, ready: bool, ports: Value) -> Value {
        let status = if ready { "True" } else { "False" };
        json!({"metadata": {"name": name, "namespace": "n", "uid": name},
            "spec": {"nodeName": "node", "containers": [{"ports": ports}]},
            "status": {"podIP": format!("10.1.0.{name}"), "conditions": [{"type": "Ready", "status": status}]}})
    }

    fn listed(service: &Value, pods: &[Value]) -> Vec<Value> {
        let backends: Vec<Backend> =
            read(pods).iter().filter_map(|pod| backend(service, pod, None)).collect();
        plan_endpoints(service, &backends, None).unwrap()["subsets"].as_array().cloned().unwrap_or_default()
    }

    /// What a genuine server (1.37) writes for these pods.
    #[test]
    fn ports_with_the_same_addresses_share_a_subset() {
        let service = service(json!([{"name": "h", "port": 80, "targetPort": "http"},
            {"name": "n", "port": 81, "targetPort": 9}, {"name": "u", "port": 53, "targetPort": "udp", "protocol": "UDP"},
            {"name": "missing", "port": 82, "targetPort": "zip", "appProtocol": "kubernetes.io/h2c"}]));
        let usual = json!([{"name": "http", "containerPort": 8080}, {"name": "udp", "containerPort": 53, "protocol": "UDP"}]);
        let other = json!([{"name": "http", "containerPort": 8081}, {"name": "zip", "containerPort": 7}]);
        let subsets =
            listed(&service, &[pod("1", true, usual.clone()), pod("2", false, usual), pod("3", true, other)]);
        let shape = |subset: &Value| {
            let names = |field: &str, name: &str| {
                let items = subset[field].as_array().into_iter().flatten();
                items.map(|item| item.pointer(name).unwrap().to_string()).collect::<Vec<_>>().join(" ")
            };
            (
                names("addresses", "/targetRef/name"),
                names("notReadyAddresses", "/targetRef/name"),
                names("ports", "/port"),
            )
        };
        let quoted = |shape: (&str, &str, &str)| (shape.0.to_owned(), shape.1.to_owned(), shape.2.to_owned());
        let expected =
            [(r#""1""#, r#""2""#, "8080 53"), (r#""1" "3""#, r#""2""#, "9"), (r#""3""#, "", "8081 7")];
        assert_eq!(subsets.iter().map(shape).collect::<Vec<_>>(), expected.map(quoted));
        assert_eq!(subsets[2]["ports"][1]["appProtocol"], "kubernetes.io/h2c");
        assert_eq!(
            subsets[2]["addresses"][0],
            json!({"ip": "10.1.0.3", "nodeName": "node", "targetRef": {"kind": "Pod", "name": "3", "namespace": "n", "uid": "3"}})
        );
    }

    #[test]
    fn pods_without_an_address_and_ended_ones_are_left_out() {
        let mut published = service(json!([{"port": 80}]));
        let mut ended = pod("1", true, json!([]));
        ended["status"]["phase"] = "Succeeded".into();
        let mut pending = pod("2", true, json!([]));
        pending["status"]["podIP"] = Value::Null;
        let mut going = pod("3", false, json!([]));
        going["metadata"]["deletionTimestamp"] = "t".into();
        let pods = [ended, pending, going];
        assert_eq!(listed(&published, &pods), [] as [Value; 0]);
        published["spec"]["publishNotReadyAddresses"] = true.into();
        assert_eq!(listed(&published, &pods)[0]["addresses"][0]["ip"], "10.1.0.3");
        assert_eq!(listed(&published, &pods)[0]["ports"], json!([{"port": 80, "protocol": "TCP"}]));
    }

    #[test]
    fn a_headless_service_needs_no_ports() {
        let mut headless = service(json!([]));
        headless["spec"]["clusterIP"] = "None".into();
        let mut named = pod("1", true, json!([]));
        named["spec"]["hostname"] = "one".into();
        named["spec"]["subdomain"] = "s".into();
        let backends = [backend(&headless, &named.into(), None).unwrap()];
        let endpoints = plan_endpoints(&headless, &backends, None).unwrap();
        assert_eq!(endpoints["subsets"][0]["addresses"][0]["hostname"], "one");
        assert_eq!(endpoints["subsets"][0].get("ports"), None);
        assert_eq!(
            endpoints["metadata"]["labels"],
            json!({"team": "x", MANAGED_BY: "endpoint-controller", HEADLESS: ""})
        );
        assert_eq!(plan_endpoints(&headless, &backends, Some(&endpoints)), None, "nothing changes");
    }
}
