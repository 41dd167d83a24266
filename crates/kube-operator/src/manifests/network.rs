//! Who may reach the program, and whom it may reach.

use serde_json::json;

use super::{
    error::ManifestsError,
    placement::{Objects, Placement, metadata},
    settings::Manifests,
    workload::{ports, selector},
};

pub(super) fn network_policy(
    manifests: &Manifests,
    placement: &Placement,
    objects: &mut Objects,
) -> Result<(), ManifestsError> {
    let Some(readers) = &manifests.metrics_readers else { return Ok(()) };
    let ports = ports(manifests)?;
    let tcp = |port: serde_json::Value| json!({ "protocol": "TCP", "port": port });
    let in_namespace = |name: &str| json!({ "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": name } } });
    let ingress = ports.iter().filter_map(|port| match port.name {
        // API servers have addresses that depend on the cluster.
        "webhook" => Some(json!({ "ports": [tcp(port.name.into())] })),
        _ if readers.is_empty() => None,
        _ => {
            let from: Vec<_> = readers.iter().map(|reader| in_namespace(reader)).collect();
            Some(json!({ "from": from, "ports": [tcp(port.name.into())] }))
        }
    });
    if manifests.api_server_ports.is_empty() || manifests.api_server_ports.contains(&0) {
        let what = format!("the ports of API servers are {:?}", manifests.api_server_ports);
        return Err(ManifestsError::inconsistent(what, "expected at least one, and numbers from 1"));
    }
    let api_servers: Vec<_> = manifests.api_server_ports.iter().map(|port| tcp((*port).into())).collect();
    let mut dns = in_namespace("kube-system");
    dns["podSelector"] = json!({ "matchLabels": { "k8s-app": "kube-dns" } });
    objects.add(&json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(manifests, placement),
        "spec": {
            "podSelector": selector(manifests),
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress.collect::<Vec<_>>(),
            "egress": [
                { "to": [dns], "ports": [{ "protocol": "UDP", "port": 53 }, tcp(53.into())] },
                // Of the API server's Service, and of its address after translation.
                { "ports": api_servers },
            ],
        },
    }))
}
