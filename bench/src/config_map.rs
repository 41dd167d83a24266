//! The objects of a dispatch without a server.

use k8s_openapi::api::core::v1::ConfigMap;

/// The ConfigMap of this number.
pub(crate) fn config_map(index: usize) -> ConfigMap {
    let mut object = ConfigMap::default();
    let metadata = &mut object.metadata;
    metadata.name = Some(format!("object-{index}"));
    metadata.namespace = Some("default".to_owned());
    metadata.resource_version = Some((1000 + index).to_string());
    object.data = Some([("text".to_owned(), "x".repeat(600))].into());
    object
}
