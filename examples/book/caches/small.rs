//! A cache of few bytes.

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};

/// A fifth of the memory or less: objects are kept compressed, without `managedFields`, and only those of this operator.
pub fn small(client: Client) -> Controller<ConfigMap> {
    let config = watcher::Config::default()
        .labels("app.kubernetes.io/managed-by=my-operator")
        .without_managed_fields()
        .compact_cache(); // needs the feature `compact-cache`
    Controller::new(Api::all(client), config)
}
// ANCHOR_END: all
