//! The workload, compiled against this workspace.

use ::kube;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::client::Prune;
use kube::runtime::watcher;
use kube::{Api, Client, Config, core};

#[path = "workload/mod.rs"]
pub(crate) mod workload;

/// The default: HTTP/2, over one connection or, under load, a few.
fn over_one_connection(config: Config) -> anyhow::Result<Client> {
    Ok(Client::try_from(config)?)
}

/// Lists all Pods. `pruned`: the decoder skips `managedFields`.
async fn list(client: Client, pruned: bool) -> kube::Result<Vec<Pod>> {
    if !pruned {
        return Ok(Api::default_namespaced(client).list(&ListParams::default()).await?.items);
    }
    let path = Api::<Pod>::default_namespaced(client.clone()).resource_url().to_owned();
    let request = core::Request::new(path).list(&ListParams::default());
    let mut request = request.map_err(kube::Error::BuildRequest)?;
    request.extensions_mut().insert(Prune::default().managed_fields());
    Ok(client.request_list(request).await?.items)
}

/// Makes the watcher skip `managedFields`.
fn pruned_config(config: watcher::Config) -> watcher::Config {
    config.without_managed_fields()
}
