//! An index of a cache.

// ANCHOR: all
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::reflector::Index;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};

/// Finds pods by their node, in time that depends on the number of pods found only.
pub fn by_node(client: Client) -> (Controller<Pod>, Index<Pod, String>) {
    let index = Index::new(|pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()));
    let controller = Controller::new(Api::all(client), watcher::Config::default()).with_index(&index);
    (controller, index) // store.by_index(&index, "node-1")
}
// ANCHOR_END: all
