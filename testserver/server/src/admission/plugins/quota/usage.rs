//! What one object uses.

use serde_json::Value;

use crate::{
    admission::plugins::resources::{Overhead, ResourceList, pod_total, resource_list},
    object::quantity::Quantity,
};

/// A resource whose objects are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted<'a> {
    pub(super) group: &'a str,
    pub(super) plural: &'a str,
}

/// Core kinds that are also counted under their plain name.
const PLAIN: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";
/// Resources with a name for requests, a name for limits, and one without either, which stands for requests.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

impl Counted<'_> {
    pub(super) fn is_pods(&self) -> bool {
        self.group.is_empty() && self.plural == "pods"
    }

    /// Whether the usage of this kind has a resource of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        if name.strip_prefix("count/") == Some(self.qualified().as_str()) {
            return true;
        }
        match (self.group, self.plural) {
            ("", "pods") => is_of_pods(name),
            ("", "services") => matches!(name, "services" | "services.nodeports" | "services.loadbalancers"),
            ("", "persistentvolumeclaims") => {
                matches!(name, "persistentvolumeclaims" | "requests.storage") || name.contains(OF_CLASS)
            }
            ("", plural) => PLAIN.contains(&plural) && name == plural,
            _ => false,
        }
    }

    /// What an object of this kind uses.
    pub(super) fn usage(&self, object: &Value) -> ResourceList {
        let one = Quantity::of(1);
        let mut usage = match (self.group, self.plural) {
            ("", "pods") => of_pod(object),
            ("", "services") => of_service(object),
            ("", "persistentvolumeclaims") => of_claim(object),
            ("", plural) if PLAIN.contains(&plural) => ResourceList::from([(plural.to_owned(), one)]),
            _ => ResourceList::new(),
        };
        usage.insert(format!("count/{}", self.qualified()), one);
        usage
    }

    fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }
}

fn is_of_pods(name: &str) -> bool {
    let (plain, is_limit) = match name.split_once('.') {
        Some(("requests", rest)) => (rest, false),
        Some(("limits", rest)) => (rest, true),
        _ if name == "pods" => return true,
        _ => return COMPUTE.contains(&name) || name.starts_with("hugepages-"),
    };
    let requested = plain.starts_with("hugepages-") || plain.contains('/');
    COMPUTE.contains(&plain) || !is_limit && requested
}

/// A pod uses its requests and limits until it has finished.
fn of_pod(pod: &Value) -> ResourceList {
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return ResourceList::new();
    }
    let mut usage = ResourceList::from([("pods".to_owned(), Quantity::of(1))]);
    for (name, amount) in pod_total(&pod["spec"], "requests", Overhead::Included) {
        usage.insert(format!("requests.{name}"), amount);
        if COMPUTE.contains(&name.as_str()) || name.starts_with("hugepages-") {
            usage.insert(name, amount);
        }
    }
    for (name, amount) in pod_total(&pod["spec"], "limits", Overhead::Included) {
        if COMPUTE.contains(&name.as_str()) {
            usage.insert(format!("limits.{name}"), amount);
        }
    }
    usage
}

fn of_service(service: &Value) -> ResourceList {
    let spec = &service["spec"];
    let ports = || spec["ports"].as_array().into_iter().flatten();
    let node_ports = match spec["type"].as_str() {
        Some("LoadBalancer") if spec["allocateLoadBalancerNodePorts"] == false => {
            ports().filter(|port| port["nodePort"].as_u64().is_some_and(|number| number > 0)).count()
        }
        Some("NodePort" | "LoadBalancer") => ports().count(),
        _ => 0,
    };
    let balancers = usize::from(spec["type"] == "LoadBalancer");
    let all = [("services", 1), ("services.nodeports", node_ports), ("services.loadbalancers", balancers)];
    all.map(|(name, number)| (name.to_owned(), Quantity::of(number))).into()
}

fn of_claim(claim: &Value) -> ResourceList {
    let storage = |value: &Value| resource_list(value).get("storage").copied();
    let requested = storage(&claim["spec"]["resources"]["requests"]);
    // While a claim grows, the larger size counts.
    let size = requested.max(storage(&claim["status"]["allocatedResources"]));
    let mut usage = ResourceList::from([("persistentvolumeclaims".to_owned(), Quantity::of(1))]);
    usage.extend(size.map(|size| ("requests.storage".to_owned(), size)));
    let class = claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].as_str();
    let class = class.or(claim["spec"]["storageClassName"].as_str()).filter(|class| !class.is_empty());
    if let Some(class) = class {
        for (name, amount) in usage.clone() {
            usage.insert(format!("{class}{OF_CLASS}{name}"), amount);
        }
    }
    usage
}
