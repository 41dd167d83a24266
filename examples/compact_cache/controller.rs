//! The controller: annotates each ConfigMap with the size of its data.

use std::sync::Arc;

use futures::Stream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{predicates, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

const SIZE: &str = "example.com/size";

/// The cache keeps each ConfigMap as it was received, compressed. A reconcile decodes its object, unless it was used recently.
///
/// With the predicate, a relist reconciles only what has changed, so that unchanged objects are not decoded. A predicate of the metadata
/// needs no decoded object.
pub fn new(client: Client) -> Controller<ConfigMap> {
    Controller::new(Api::all(client), watcher::Config::default().compact_cache())
        .filter_metadata(predicates::resource_version)
}

/// What a reconcile returned, or why it failed.
pub type Outcome = Result<(ObjectRef<ConfigMap>, Action), controller::Error<kube::Error, watcher::Error>>;

/// Runs the controller while the outcomes are polled.
pub fn run(
    controller: Controller<ConfigMap>,
    client: Client,
) -> impl Stream<Item = Outcome> + Send + 'static {
    controller.run(reconcile, |_map, _error, _client| Action::retry(), Arc::new(client))
}

/// The size that the controller has written.
pub fn size(map: &ConfigMap) -> Option<usize> {
    map.annotations().get(SIZE)?.parse().ok()
}

async fn reconcile(map: Arc<ConfigMap>, client: Arc<Client>) -> kube::Result<Action> {
    let bytes = map.data.iter().flatten().map(|(key, value)| key.len() + value.len()).sum();
    if size(&map) == Some(bytes) {
        return Ok(Action::await_change());
    }
    let namespace = map.namespace().unwrap_or_default();
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace);
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { SIZE: bytes.to_string() } } }));
    let written = maps.patch(&map.name_any(), &PatchParams::default(), &patch).await?;
    // The next reconcile sees the annotation.
    Ok(Action::after_write(Action::await_change(), &written))
}
