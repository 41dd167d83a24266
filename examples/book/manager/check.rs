//! A validating webhook.

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::admission::AdmissionRequest;
use kube::operator::webhook::Denial;

/// Refuses a ConfigMap without data.
pub async fn check(request: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
    match request.object {
        Some(map) if map.data.is_none() => Err(Denial::invalid("data", "must not be empty")),
        _ => Ok(()),
    }
}
// ANCHOR_END: all
