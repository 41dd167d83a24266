//! Addresses of services: their range, and the service of the server itself.

use serde_json::json;

use super::{ClusterState, create::Created, state::IN_MEMORY};
use crate::{storage::WriteError, write::Writer};

impl ClusterState {
    /// Creates the service `kubernetes` where it is missing. As on genuine servers that listen on the loopback address, no endpoint leads
    /// to it.
    pub(super) fn ensure_kubernetes_service(&mut self) -> Result<(), WriteError> {
        let address = self.services.range().addresses(0).next().map(|ip| ip.to_string());
        let service = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "clusterIP": address,
                "clusterIPs": [address],
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            },
        });
        self.create_or_warn("", "services", service)?;
        self.ensure_service_range()
    }

    /// Creates the object about the addresses of services where it is missing.
    fn ensure_service_range(&mut self) -> Result<(), WriteError> {
        let range = json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": "kubernetes"},
            "spec": {"cidrs": [self.services.range().to_string()]},
        });
        let created = self.create_by(Writer::Server, "networking.k8s.io", "servicecidrs", range)?;
        let (Created::Stored(created), Some(ranges)) =
            (created, self.storage.resource("networking.k8s.io", "servicecidrs"))
        else {
            return Ok(());
        };
        let mut range = created.value();
        let ready = json!({"type": "Ready", "status": "True", "reason": "", "lastTransitionTime": self.now(),
            "message": "Kubernetes Service CIDR is ready"});
        range["status"] = json!({"conditions": [ready]});
        self.put(&ranges, created.key.clone(), range).map(drop)
    }

    /// Creates the service of a new cluster.
    pub(super) fn bootstrap_kubernetes_service(&mut self) {
        self.ensure_kubernetes_service().expect(IN_MEMORY);
    }
}
