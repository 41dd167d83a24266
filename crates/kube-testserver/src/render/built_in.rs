//! The columns of built-in kinds between name and age.

use serde_json::Value;

use super::pods;

/// Header, priority (above 0: only with `-o wide`) and content.
pub(super) type Made = (&'static str, i64, fn(&Value) -> Value);

pub(super) fn columns(group: &str, plural: &str) -> &'static [Made] {
    match (group, plural) {
        ("", "pods") => &[
            ("Ready", 0, pod_ready),
            ("Status", 0, pods::status),
            ("Restarts", 0, pod_restarts),
            ("IP", 1, |o| text_or(&o["status"]["podIP"], "<none>")),
            ("Node", 1, |o| text_or(&o["spec"]["nodeName"], "<none>")),
            ("Nominated Node", 1, |o| text_or(&o["status"]["nominatedNodeName"], "<none>")),
            ("Readiness Gates", 1, pod_gates),
        ],
        ("", "namespaces") => &[("Status", 0, |o| o["status"]["phase"].clone())],
        ("", "configmaps") => &[("Data", 0, |o| (count(&o["data"]) + count(&o["binaryData"])).into())],
        ("", "secrets") => {
            &[("Type", 0, |o| text_or(&o["type"], "Opaque")), ("Data", 0, |o| count(&o["data"]).into())]
        }
        ("", "services") => &[
            ("Type", 0, |o| text_or(&o["spec"]["type"], "ClusterIP")),
            ("Cluster-IP", 0, |o| text_or(&o["spec"]["clusterIP"], "<none>")),
            ("External-IP", 0, |_| "<none>".into()),
            ("Port(s)", 0, service_ports),
        ],
        ("", "nodes") => &[
            ("Status", 0, |o| if condition(o, "Ready") == "True" { "Ready" } else { "NotReady" }.into()),
            ("Version", 0, |o| o["status"]["nodeInfo"]["kubeletVersion"].clone()),
        ],
        ("", "events") => &[
            ("Type", 0, |o| o["type"].clone()),
            ("Reason", 0, |o| o["reason"].clone()),
            ("Object", 0, |o| involved(&o["involvedObject"])),
            ("Message", 0, |o| o["message"].clone()),
        ],
        ("", "persistentvolumeclaims") => &[
            ("Status", 0, |o| o["status"]["phase"].clone()),
            ("Volume", 0, |o| o["spec"]["volumeName"].clone()),
            ("StorageClass", 0, |o| o["spec"]["storageClassName"].clone()),
        ],
        ("apps", "deployments") => &[
            ("Ready", 0, |o| ratio(&o["status"]["readyReplicas"], &o["spec"]["replicas"])),
            ("Up-to-date", 0, |o| number(&o["status"]["updatedReplicas"]).into()),
            ("Available", 0, |o| number(&o["status"]["availableReplicas"]).into()),
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        ("apps", "replicasets") | ("", "replicationcontrollers") => &[
            ("Desired", 0, |o| number(&o["spec"]["replicas"]).into()),
            ("Current", 0, |o| number(&o["status"]["replicas"]).into()),
            ("Ready", 0, |o| number(&o["status"]["readyReplicas"]).into()),
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        ("apps", "statefulsets") => &[
            ("Ready", 0, |o| ratio(&o["status"]["readyReplicas"], &o["spec"]["replicas"])),
            CONTAINERS,
            IMAGES,
        ],
        ("apps", "daemonsets") => &[
            ("Desired", 0, |o| number(&o["status"]["desiredNumberScheduled"]).into()),
            ("Current", 0, |o| number(&o["status"]["currentNumberScheduled"]).into()),
            ("Ready", 0, |o| number(&o["status"]["numberReady"]).into()),
        ],
        ("batch", "jobs") => &[
            ("Status", 0, job_status),
            ("Completions", 0, |o| ratio(&o["status"]["succeeded"], &o["spec"]["completions"])),
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
        ("policy", "poddisruptionbudgets") => &[
            ("Min Available", 0, |o| given(&o["spec"]["minAvailable"])),
            ("Max Unavailable", 0, |o| given(&o["spec"]["maxUnavailable"])),
            ("Allowed Disruptions", 0, |o| number(&o["status"]["disruptionsAllowed"]).into()),
        ],
        ("coordination.k8s.io", "leases") => &[("Holder", 0, |o| o["spec"]["holderIdentity"].clone())],
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            &[("Created At", 0, |o| o["metadata"]["creationTimestamp"].clone())]
        }
        _ => &[],
    }
}

const CONTAINERS: Made = ("Containers", 1, |o| of_containers(o, "name"));
const IMAGES: Made = ("Images", 1, |o| of_containers(o, "image"));
const SELECTOR: Made = ("Selector", 1, selector);

fn of_containers(object: &Value, field: &str) -> Value {
    let containers = object["spec"]["template"]["spec"]["containers"].as_array().into_iter().flatten();
    containers.filter_map(|container| container[field].as_str()).collect::<Vec<_>>().join(",").into()
}

/// The pairs of a selector; one with expressions is not written out.
fn selector(object: &Value) -> Value {
    let selector = &object["spec"]["selector"];
    let labels = if selector["matchLabels"].is_object() { &selector["matchLabels"] } else { selector };
    let pairs = labels.as_object().into_iter().flatten();
    let pairs = pairs.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    let text = pairs.collect::<Vec<_>>().join(",");
    if text.is_empty() { "<none>".into() } else { text.into() }
}

fn given(value: &Value) -> Value {
    match value {
        Value::Null => "N/A".into(),
        Value::String(_) => value.clone(),
        other => other.to_string().into(),
    }
}

fn pod_ready(pod: &Value) -> Value {
    let ready =
        pod["status"]["containerStatuses"].as_array().into_iter().flatten().filter(|c| c["ready"] == true);
    format!("{}/{}", ready.count(), count(&pod["spec"]["containers"])).into()
}

fn pod_restarts(pod: &Value) -> Value {
    let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    statuses.map(|c| number(&c["restartCount"])).sum::<i64>().to_string().into()
}

fn pod_gates(pod: &Value) -> Value {
    let gates = pod["spec"]["readinessGates"].as_array().map_or(&[][..], Vec::as_slice);
    let open = |gate: &&Value| condition(pod, gate["conditionType"].as_str().unwrap_or_default()) == "True";
    match gates {
        [] => "<none>".into(),
        gates => format!("{}/{}", gates.iter().filter(open).count(), gates.len()).into(),
    }
}

fn service_ports(service: &Value) -> Value {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let each = ports.map(|p| format!("{}/{}", number(&p["port"]), p["protocol"].as_str().unwrap_or("TCP")));
    let joined = each.collect::<Vec<_>>().join(",");
    if joined.is_empty() { "<none>".into() } else { joined.into() }
}

fn job_status(job: &Value) -> Value {
    let status = ["Complete", "Failed", "Suspended"].into_iter().find(|kind| condition(job, kind) == "True");
    status.unwrap_or("Running").into()
}

fn involved(object: &Value) -> Value {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    format!("{}/{}", text("kind").to_lowercase(), text("name")).into()
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.filter(|c| c["type"] == kind).find_map(|c| c["status"].as_str()).unwrap_or_default()
}

fn ratio(part: &Value, whole: &Value) -> Value {
    format!("{}/{}", number(part), whole.as_i64().unwrap_or(1)).into()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn count(value: &Value) -> usize {
    value.as_object().map_or_else(|| value.as_array().map_or(0, Vec::len), serde_json::Map::len)
}

fn text_or(value: &Value, otherwise: &str) -> Value {
    if value.as_str().is_some_and(|s| !s.is_empty()) { value.clone() } else { otherwise.into() }
}
