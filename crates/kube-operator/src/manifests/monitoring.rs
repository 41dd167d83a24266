//! What Prometheus and Grafana find.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::{
    error::ManifestsError,
    placement::{Objects, Placement, labels, metadata},
    settings::Manifests,
};

/// Of the metrics that this library records.
const DASHBOARD: &str = include_str!("grafana-dashboard.json");

/// The dashboard in a ConfigMap, where Grafana's sidecar looks for it.
pub(super) fn dashboard(
    manifests: &Manifests,
    placement: &Placement,
    objects: &mut Objects,
) -> Result<(), ManifestsError> {
    if !manifests.dashboard {
        return Ok(());
    }
    let mut metadata = metadata(manifests, placement);
    metadata.name = Some(format!("{}-dashboard", manifests.name));
    metadata.labels.get_or_insert_default().insert("grafana_dashboard".into(), "1".into());
    let data = [(format!("{}.json", manifests.name), DASHBOARD.to_owned())].into();
    objects.add(&ConfigMap { metadata, data: Some(data), ..ConfigMap::default() })
}

/// Of the Prometheus operator, whose types this crate does not have.
pub(super) fn service_monitor(
    manifests: &Manifests,
    placement: &Placement,
    objects: &mut Objects,
) -> Result<(), ManifestsError> {
    if !manifests.service_monitor {
        return Ok(());
    }
    if manifests.facts.metrics.is_none() {
        let expected = "expected a manager with serve_metrics";
        return Err(ManifestsError::inconsistent("a ServiceMonitor without metrics", expected));
    }
    objects.add(&json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(manifests, placement),
        "spec": {
            "endpoints": [{ "port": "http", "path": "/metrics" }],
            "selector": { "matchLabels": labels(manifests) },
        },
    }))
}
