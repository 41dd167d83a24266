//! Columns of Ingresses, NetworkPolicies, addresses and EndpointSlices.

use serde_json::Value;

use super::{
    column::{AGE, NAME, TableColumn, text},
    values::{NONE, UNSET, count, each, first_three, items, or_none, selector, text_or},
};

pub(super) fn columns(group: &str, plural: &str) -> Option<&'static [TableColumn]> {
    Some(match (group, plural) {
        ("networking.k8s.io", "ingresses") => INGRESSES,
        ("networking.k8s.io", "ingressclasses") => INGRESS_CLASSES,
        ("networking.k8s.io", "networkpolicies") => {
            const { &[NAME, text("Pod-Selector", |o| selector(&o["spec"]["podSelector"])), AGE] }
        }
        ("networking.k8s.io", "servicecidrs") => SERVICE_RANGES,
        ("networking.k8s.io", "ipaddresses") => const { &[NAME, text("ParentRef", parent)] },
        ("discovery.k8s.io", "endpointslices") => ENDPOINT_SLICES,
        _ => return None,
    })
}

const INGRESSES: &[TableColumn] = &[
    NAME,
    text("Class", |o| or_none(&o["spec"]["ingressClassName"])),
    text("Hosts", hosts),
    text("Address", address),
    text("Ports", |o| if count(&o["spec"]["tls"]) > 0 { "80, 443" } else { "80" }.into()),
    AGE,
];

const INGRESS_CLASSES: &[TableColumn] =
    &[NAME, text("Controller", |o| o["spec"]["controller"].clone()), text("Parameters", parameters), AGE];

const SERVICE_RANGES: &[TableColumn] = &[
    NAME,
    text("CIDRs", |o| {
        let ranges = items(&o["spec"]["cidrs"]).filter_map(Value::as_str);
        ranges.collect::<Vec<_>>().join(",").into()
    }),
    AGE,
];

const ENDPOINT_SLICES: &[TableColumn] = &[
    NAME,
    text("AddressType", |o| o["addressType"].clone()),
    text("Ports", slice_ports),
    text("Endpoints", slice_endpoints),
    AGE,
];

/// What an address belongs to.
fn parent(address: &Value) -> Value {
    let parts = ["resource", "group", "namespace", "name"];
    let parts = parts.into_iter().filter_map(|field| address["spec"]["parentRef"][field].as_str());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/").into()
}

fn hosts(ingress: &Value) -> Value {
    let hosts =
        first_three(each(&ingress["spec"]["rules"], "host").filter(|host| !host.is_empty()).collect());
    text_or(&hosts.into(), "*")
}

fn address(ingress: &Value) -> Value {
    let provided = items(&ingress["status"]["loadBalancer"]["ingress"]);
    let texts = provided.filter_map(|one| one["ip"].as_str().or(one["hostname"].as_str()));
    texts.collect::<Vec<_>>().join(",").into()
}

fn parameters(class: &Value) -> Value {
    let parameters = &class["spec"]["parameters"];
    let part = |field: &str| parameters[field].as_str().unwrap_or_default();
    match (parameters.is_object(), part("apiGroup")) {
        (false, _) => NONE.into(),
        (true, "") => format!("{}/{}", part("kind"), part("name")).into(),
        (true, group) => format!("{}.{group}/{}", part("kind"), part("name")).into(),
    }
}

fn slice_ports(slice: &Value) -> Value {
    let port = |port: &Value| port["port"].as_i64().map_or_else(|| "*".into(), |number| number.to_string());
    text_or(&first_three(items(&slice["ports"]).map(port).collect()).into(), UNSET)
}

fn slice_endpoints(slice: &Value) -> Value {
    let addresses = items(&slice["endpoints"]).flat_map(|endpoint| items(&endpoint["addresses"]));
    let texts = addresses.filter_map(|address| address.as_str().map(Into::into)).collect();
    text_or(&first_three(texts).into(), UNSET)
}
