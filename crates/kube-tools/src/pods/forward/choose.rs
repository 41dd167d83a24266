//! Which pod a connection goes to, and which of its ports. No I/O.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::target::RemotePort;
use crate::pods::summary::PodSummary;

/// The port of the pods behind this port of a Service, or why there is none.
pub(super) fn target_port(service: &Service, port: &RemotePort) -> Result<RemotePort, String> {
    let spec = service.spec.as_ref();
    let ports = spec.and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let candidates: Vec<_> =
        ports.iter().map(|port| (port, port.name.as_deref(), port.port, port.protocol.as_deref())).collect();
    let Some(service_port) = tcp_port(&candidates, port)? else {
        let numbers: Vec<String> = ports.iter().map(|port| port.port.to_string()).collect();
        return Err(format!("the Service has no such port; its ports: {}", numbers.join(", ")));
    };
    // Nothing translates the ports of a Service without an address: its pods are asked by the port of the Service.
    let is_headless = spec.and_then(|spec| spec.cluster_ip.as_deref()) == Some("None");
    match &service_port.target_port {
        _ if is_headless => port_number(service_port.port),
        Some(IntOrString::String(name)) => Ok(RemotePort::Name(name.clone())),
        Some(IntOrString::Int(number)) if *number != 0 => port_number(*number),
        _ => port_number(service_port.port),
    }
}

fn port_number(number: i32) -> Result<RemotePort, String> {
    u16::try_from(number).map(RemotePort::Number).map_err(|_| format!("{number} is not a port"))
}

/// The number of a port of a pod, or why there is none. A pod need not declare its ports.
pub(super) fn container_port(pod: &PodSummary, port: &RemotePort) -> Result<u16, String> {
    let Some(spec) = &pod.spec else { return Err("the pod has no spec".into()) };
    // Sidecars are init containers.
    let containers = spec.containers.iter().chain(&spec.init_containers).flatten();
    let declared = containers.flat_map(|container| container.ports.iter().flatten());
    let candidates: Vec<_> = declared
        .map(|port| (port, port.name.as_deref(), port.container_port, port.protocol.as_deref()))
        .collect();
    let declared_port = tcp_port(&candidates, port)?;
    match port {
        RemotePort::Number(number) => Ok(*number),
        RemotePort::Name(name) => declared_port
            .and_then(|port| u16::try_from(port.container_port).ok())
            .ok_or_else(|| format!("no container of pod {} has a port named {name}", name_of(pod))),
    }
}

/// A declared port: itself, its name, number and protocol.
type Declared<'a, P> = (&'a P, Option<&'a str>, i32, Option<&'a str>);

/// The one that is meant and TCP. A number may stand for a port of each protocol, and the name of one of them then stands for both, as for
/// kubectl. An error if there are only others.
fn tcp_port<'a, P>(ports: &[Declared<'a, P>], port: &RemotePort) -> Result<Option<&'a P>, String> {
    let is_tcp = |protocol: Option<&str>| matches!(protocol, None | Some("TCP"));
    let mut named = ports.iter().filter(|(_, name, number, _)| match port {
        RemotePort::Number(requested) => *number == i32::from(*requested),
        RemotePort::Name(requested) => *name == Some(requested),
    });
    let Some(first) = named.clone().next() else { return Ok(None) };
    let same_number =
        || ports.iter().find(|(_, _, number, protocol)| *number == first.2 && is_tcp(*protocol));
    match named.find(|(.., protocol)| is_tcp(*protocol)).or_else(same_number) {
        Some((port, ..)) => Ok(Some(port)),
        None => Err(format!("the port is {}, and only TCP can be forwarded", first.3.unwrap_or_default())),
    }
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

    #[test]
    fn a_port_is_known_by_its_number_and_protocol() {
        let mut service = service(json!([
            {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 1053},
            {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 2053},
        ]));
        let port = |service: &Service, text: &str| {
            target_port(service, &RemotePort::from(text)).map(|port| port.to_string())
        };
        assert_eq!(port(&service, "53"), Ok("2053".into()));
        assert_eq!(port(&service, "dns-tcp"), Ok("2053".into()));
        assert_eq!(port(&service, "dns"), Ok("2053".into()), "kubectl takes the name for the number");
        service.spec.as_mut().unwrap().cluster_ip = Some("None".into());
        assert_eq!(port(&service, "53"), Ok("53".into()), "of a headless Service nothing is translated");
        let pod = serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": {"containers": [
            {"name": "a", "ports": [{"name": "x", "containerPort": 53, "protocol": "UDP"}, {"name": "udp", "containerPort": 9, "protocol": "UDP"}]},
            {"name": "b", "ports": [{"name": "x", "containerPort": 54}, {"name": "y", "containerPort": 53, "protocol": "TCP"}]}]}}));
        let pod: PodSummary = pod.unwrap();
        let of_pod = |text: &str| container_port(&pod, &RemotePort::from(text));
        assert_eq!((of_pod("53"), of_pod("x"), of_pod("80")), (Ok(53), Ok(54), Ok(80)));
        for port in ["9", "udp"] {
            assert_eq!(of_pod(port), Err("the port is UDP, and only TCP can be forwarded".into()));
        }
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
