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
                // 443 is the API server's Service, 6443 its address after translation.
                { "ports": [tcp(443.into()), tcp(6443.into())] },
            ],
        },
    }))
}
