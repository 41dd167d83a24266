//! Which pod a connection goes to, and which of its ports. No I/O.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::target::RemotePort;
use crate::pods::summary::PodSummary;

/// The port of the pods behind this port of a Service, or why there is none.
pub(super) fn target_port(service: &Service, port: &RemotePort) -> Result<RemotePort, String> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let found = ports.iter().find(|candidate| match port {
        RemotePort::Number(number) => candidate.port == i32::from(*number),
        RemotePort::Name(name) => candidate.name.as_deref() == Some(name),
    });
    let Some(found) = found else {
        let known: Vec<String> = ports.iter().map(|port| port.port.to_string()).collect();
        return Err(format!("the Service has no such port; its ports: {}", known.join(", ")));
    };
    match found.protocol.as_deref() {
        None | Some("TCP") => {}
        Some(other) => return Err(format!("the port is {other}, and only TCP can be forwarded")),
    }
    match &found.target_port {
        Some(IntOrString::String(name)) => Ok(RemotePort::Name(name.clone())),
        Some(IntOrString::Int(number)) if *number != 0 => port_number(*number),
        _ => port_number(found.port),
    }
}

fn port_number(number: i32) -> Result<RemotePort, String> {
    u16::try_from(number).map(RemotePort::Number).map_err(|_| format!("{number} is not a port"))
}

/// The number of a port of a pod, or why there is none.
pub(super) fn container_port(pod: &PodSummary, port: &RemotePort) -> Result<u16, String> {
    let name = match port {
        RemotePort::Number(number) => return Ok(*number),
        RemotePort::Name(name) => name,
    };
    let Some(spec) = &pod.spec else { return Err("the pod has no spec".into()) };
    // Sidecars are init containers.
    let containers = spec.containers.iter().chain(&spec.init_containers).flatten();
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    ports
        .find(|port| port.name.as_deref() == Some(name))
        .and_then(|port| u16::try_from(port.container_port).ok())
        .ok_or_else(|| format!("no container of pod {} has a port named {name}", name_of(pod)))
}

/// The pod to connect to: a ready one, of which the newest, because a rollout replaces the oldest. Or why there is none.
pub(super) fn choose(pods: Vec<PodSummary>) -> Result<PodSummary, String> {
    let all = pods.len();
    pods.into_iter()
        .filter(is_ready)
        .max_by(|a, b| {
            let key = |pod: &PodSummary| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            key(a).cmp(&key(b)).then_with(|| b.metadata.name.cmp(&a.metadata.name))
        })
        .ok_or_else(|| match all {
            0 => "it has no pods".to_owned(),
            _ => format!("0 of {all} pods are ready"),
        })
}

/// Whether a pod of a Service or workload takes connections.
pub(super) fn is_ready(pod: &PodSummary) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    is_running(pod).is_ok()
        && conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Whether ports of a pod can be forwarded, or why not.
pub(super) fn is_running(pod: &PodSummary) -> Result<(), String> {
    if pod.metadata.deletion_timestamp.is_some() {
        return Err("it is being deleted".into());
    }
    match pod.status.as_ref().and_then(|status| status.phase.as_deref()) {
        Some("Running") => Ok(()),
        phase => Err(format!("its phase is {}", phase.unwrap_or("unknown"))),
    }
}

pub(super) fn name_of(pod: &PodSummary) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn service(ports: Value) -> Service {
        serde_json::from_value(json!({"metadata": {}, "spec": {"ports": ports}})).unwrap()
    }

    #[test]
    fn a_port_of_a_service_is_that_of_its_pods() {
        let service = service(json!([
            {"name": "http", "port": 80, "targetPort": "web"},
            {"name": "metrics", "port": 9000, "targetPort": 9090},
            {"name": "plain", "port": 81},
            {"name": "dns", "port": 53, "protocol": "UDP"},
        ]));
        let port = |text: &str| target_port(&service, &RemotePort::from(text)).map(|port| port.to_string());
        assert_eq!(port("80"), Ok("web".into()));
        assert_eq!(port("http"), Ok("web".into()));
        assert_eq!(port("metrics"), Ok("9090".into()));
        assert_eq!(port("plain"), Ok("81".into()));
        assert_eq!(port("9090"), Err("the Service has no such port; its ports: 80, 9000, 81, 53".into()));
        assert_eq!(port("dns"), Err("the port is UDP, and only TCP can be forwarded".into()));
    }

    fn pod(name: &str, created: &str, ready: &str) -> PodSummary {
        serde_json::from_value(json!({
            "metadata": {"name": name, "creationTimestamp": created},
            "spec": {"containers": [{"name": "a"}, {"name": "b", "ports": [{"name": "http", "containerPort": 8080}]}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    #[test]
    fn the_newest_ready_pod_is_chosen() {
        let (old, new) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let mut deleted = pod("deleted", new, "True");
        deleted.metadata.deletion_timestamp = deleted.metadata.creation_timestamp.clone();
        let all = vec![
            pod("old", old, "True"),
            pod("b", new, "True"),
            pod("a", new, "True"),
            pod("unready", new, "False"),
            deleted,
        ];
        assert_eq!(name_of(&choose(all.clone()).unwrap()), "a");
        assert_eq!(choose(all[3..].to_vec()).unwrap_err(), "0 of 2 pods are ready");
        assert_eq!(choose(Vec::new()).unwrap_err(), "it has no pods");
    }

    #[test]
    fn a_port_of_a_pod_may_have_a_name() {
        let pod = pod("web", "2026-01-01T00:00:00Z", "True");
        assert_eq!(container_port(&pod, &RemotePort::from("http")), Ok(8080));
        assert_eq!(container_port(&pod, &RemotePort::Number(1)), Ok(1));
        let missing = container_port(&pod, &RemotePort::from("none")).unwrap_err();
        assert_eq!(missing, "no container of pod web has a port named none");
    }
}
