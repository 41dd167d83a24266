//! Columns of core kinds except storage, and of Events in both groups.

use serde_json::Value;

use super::{
    column::{AGE, CREATED_AT, NAME, TableColumn, text, timed, wide},
    pods,
    values::{condition, count, each, first_three, items, joined, labels, number, or_none, since, text_or},
};

pub(super) fn columns(group: &str, plural: &str) -> Option<&'static [TableColumn]> {
    Some(match (group, plural) {
        ("", "pods") => PODS,
        ("", "namespaces") => const { &[NAME, text("Status", |o| o["status"]["phase"].clone()), AGE] },
        ("", "configmaps") => {
            const { &[NAME, text("Data", |o| (count(&o["data"]) + count(&o["binaryData"])).into()), AGE] }
        }
        ("", "secrets") => SECRETS,
        ("", "serviceaccounts") => const { &[NAME, AGE] },
        ("", "services") => SERVICES,
        ("", "endpoints") => const { &[NAME, text("Endpoints", endpoints), AGE] },
        ("", "podtemplates") => POD_TEMPLATES,
        ("", "nodes") => NODES,
        ("", "limitranges") => const { &[NAME, CREATED_AT] },
        ("", "resourcequotas") => {
            const { &[NAME, text("Request", |o| quota(o, false)), text("Limit", |o| quota(o, true)), AGE] }
        }
        ("" | "events.k8s.io", "events") => EVENTS,
        _ => return None,
    })
}

const PODS: &[TableColumn] = &[
    NAME,
    text("Ready", pods::ready),
    text("Status", pods::status),
    timed("Restarts", pods::restarts),
    AGE,
    wide(text("IP", |pod| or_none(&pod["status"]["podIP"]))),
    wide(text("Node", |pod| or_none(&pod["spec"]["nodeName"]))),
    wide(text("Nominated Node", |pod| or_none(&pod["status"]["nominatedNodeName"]))),
    wide(text("Readiness Gates", pods::gates)),
];

const SECRETS: &[TableColumn] =
    &[NAME, text("Type", |o| text_or(&o["type"], "Opaque")), text("Data", |o| count(&o["data"]).into()), AGE];

const SERVICES: &[TableColumn] = &[
    NAME,
    text("Type", |o| text_or(&o["spec"]["type"], "ClusterIP")),
    text("Cluster-IP", |o| or_none(&o["spec"]["clusterIP"])),
    text("External-IP", external),
    text("Port(s)", ports),
    AGE,
    wide(text("Selector", |o| labels(&o["spec"]["selector"]))),
];

const POD_TEMPLATES: &[TableColumn] = &[
    NAME,
    text("Containers", |o| joined(each(&o["template"]["spec"]["containers"], "name"), ",")),
    text("Images", |o| joined(each(&o["template"]["spec"]["containers"], "image"), ",")),
    text("Pod Labels", |o| labels(&o["template"]["metadata"]["labels"])),
];

const NODES: &[TableColumn] = &[
    NAME,
    text("Status", node_status),
    text("Roles", roles),
    AGE,
    text("Version", |o| text_or(&o["status"]["nodeInfo"]["kubeletVersion"], "")),
    wide(text("Internal-IP", |o| address(o, "InternalIP"))),
    wide(text("External-IP", |o| address(o, "ExternalIP"))),
    wide(text("OS-Image", |o| system(o, "osImage"))),
    wide(text("Kernel-Version", |o| system(o, "kernelVersion"))),
    wide(text("Container-Runtime", |o| system(o, "containerRuntimeVersion"))),
];

const EVENTS: &[TableColumn] = &[
    timed("Last Seen", |o, now| since(last(o), now, "<unknown>")),
    text("Type", |o| o["type"].clone()),
    text("Reason", |o| o["reason"].clone()),
    text("Object", |o| regarded(about(o))),
    wide(text("Subobject", |o| text_or(&about(o)["fieldPath"], ""))),
    wide(text("Source", source)),
    text("Message", |o| either(o, "message", "note").as_str().unwrap_or_default().trim().into()),
    wide(timed("First Seen", |o, now| since(first(o), now, "<unknown>"))),
    wide(text("Count", times)),
    wide(NAME),
];

/// The external addresses of a service.
fn external(service: &Value) -> Value {
    let spec = &service["spec"];
    let mut addresses: Vec<String> =
        items(&spec["externalIPs"]).filter_map(|ip| ip.as_str().map(Into::into)).collect();
    match spec["type"].as_str().unwrap_or_default() {
        "ExternalName" => or_none(&spec["externalName"]),
        "LoadBalancer" => {
            let ingress = items(&service["status"]["loadBalancer"]["ingress"]);
            let provided = ingress.filter_map(|one| one["ip"].as_str().or(one["hostname"].as_str()));
            let mut all: Vec<String> = provided.map(Into::into).collect();
            all.append(&mut addresses);
            if all.is_empty() { "<pending>".into() } else { all.join(",").into() }
        }
        _ => joined(addresses, ","),
    }
}

fn ports(service: &Value) -> Value {
    let each = items(&service["spec"]["ports"]).map(|port| {
        let protocol = port["protocol"].as_str().unwrap_or("TCP");
        match number(&port["nodePort"]) {
            0 => format!("{}/{protocol}", number(&port["port"])),
            node => format!("{}:{node}/{protocol}", number(&port["port"])),
        }
    });
    joined(each, ",")
}

fn endpoints(endpoints: &Value) -> Value {
    let mut all = Vec::new();
    for subset in items(&endpoints["subsets"]) {
        let addresses: Vec<String> = each(&subset["addresses"], "ip").collect();
        if count(&subset["ports"]) == 0 {
            all.extend(addresses.iter().cloned());
        }
        for port in items(&subset["ports"]) {
            all.extend(addresses.iter().map(|ip| match ip.contains(':') {
                true => format!("[{ip}]:{}", number(&port["port"])),
                false => format!("{ip}:{}", number(&port["port"])),
            }));
        }
    }
    or_none(&first_three(all).into())
}

fn node_status(node: &Value) -> Value {
    let mut words = match condition(node, "Ready") {
        "" => "Unknown".to_owned(),
        "True" => "Ready".to_owned(),
        _ => "NotReady".to_owned(),
    };
    if node["spec"]["unschedulable"] == true {
        words.push_str(",SchedulingDisabled");
    }
    words.into()
}

fn roles(node: &Value) -> Value {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<String> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role.to_owned()),
            None if key == "kubernetes.io/role" => value.as_str().map(Into::into),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort();
    roles.dedup();
    joined(roles, ",")
}

fn address(node: &Value, kind: &str) -> Value {
    let entry = items(&node["status"]["addresses"]).find(|address| address["type"] == kind);
    or_none(&entry.map_or(Value::Null, |address| address["address"].clone()))
}

fn system(node: &Value, field: &str) -> Value {
    text_or(&node["status"]["nodeInfo"][field], "<unknown>")
}

/// `resource: used/hard` for limits, or for everything else.
fn quota(quota: &Value, limits: bool) -> Value {
    let hard = quota["status"]["hard"].as_object().into_iter().flatten();
    let ours = hard.filter(|(name, _)| name.starts_with("limits.") == limits);
    let texts = ours.map(|(name, hard)| {
        let used = quota["status"]["used"][name].as_str().unwrap_or("0");
        format!("{name}: {used}/{}", hard.as_str().unwrap_or_default())
    });
    texts.collect::<Vec<_>>().join(", ").into()
}

/// A field of an Event under either of its names.
fn either<'a>(event: &'a Value, old: &str, new: &str) -> &'a Value {
    if event[old].is_null() { &event[new] } else { &event[old] }
}

fn about(event: &Value) -> &Value {
    either(event, "involvedObject", "regarding")
}

fn regarded(object: &Value) -> Value {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    format!("{}/{}", text("kind").to_lowercase(), text("name")).into()
}

fn first(event: &Value) -> &Value {
    let first = either(event, "firstTimestamp", "deprecatedFirstTimestamp");
    if first.is_null() { &event["eventTime"] } else { first }
}

fn last(event: &Value) -> &Value {
    let last = either(event, "lastTimestamp", "deprecatedLastTimestamp");
    match &event["series"]["lastObservedTime"] {
        Value::Null if last.is_null() => first(event),
        Value::Null => last,
        observed => observed,
    }
}

fn times(event: &Value) -> Value {
    let count = number(either(event, "count", "deprecatedCount"));
    event["series"]["count"].as_i64().unwrap_or(count.max(1)).into()
}

fn source(event: &Value) -> Value {
    let source = either(event, "source", "deprecatedSource");
    let part = |field: &str| source[field].as_str().filter(|text| !text.is_empty());
    match (part("component"), part("host")) {
        (None, None) => text_or(either(event, "reportingComponent", "reportingController"), ""),
        (component, host) => component.into_iter().chain(host).collect::<Vec<_>>().join(", ").into(),
    }
}
