//! The measured program over the peer.

use k8s_openapi::api::core::v1::Pod;
use peer as kube;
use peer::api::ListParams;
use peer::runtime::watcher;
use peer::{Api, Client};

#[path = "side/mod.rs"]
pub(crate) mod side;

/// All Pods. `lean`: without `managedFields`, which it cannot but read first.
async fn list(client: Client, lean: bool) -> peer::Result<Vec<Pod>> {
    let mut pods = Api::<Pod>::default_namespaced(client).list(&ListParams::default()).await?.items;
    if lean {
        pods.iter_mut().for_each(|pod| pod.metadata.managed_fields = None);
    }
    Ok(pods)
}

/// It has no such setting; they are cleared when they have been read.
fn lean_config(config: watcher::Config) -> watcher::Config {
    config
}
