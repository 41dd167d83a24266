//! The workload, compiled against this workspace.

use std::fmt::Debug;
use std::sync::Arc;

use ::kube;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::ListParams;
use kube::client::Prune;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Controller, predicates, watcher};
use kube::{Api, Client, Config, Resource, core};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::case::CacheKind;
use workload::Cache;

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

/// A compact cache of Pods.
fn compact_cache(client: Client, config: watcher::Config) -> Cache<Pod> {
    compact(Api::default_namespaced(client), config)
}

/// A compact cache of the metadata of ConfigMaps.
fn compact_metadata_cache(client: Client, config: watcher::Config) -> Cache<PartialObjectMeta<ConfigMap>> {
    compact(Api::default_namespaced(client), config)
}

fn compact<K>(api: Api<K>, config: watcher::Config) -> Cache<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let (store, writer) = reflector::compact_store();
    let (completed, lists) = watch::channel(0);
    let filling = writer.watch(api, config).for_each(move |event| {
        if let Ok(watcher::Event::InitDone) = event {
            completed.send_modify(|lists| *lists += 1);
        }
        std::future::ready(())
    });
    Cache { store, filling: filling.boxed(), lists }
}

/// Reads a compact cache.
fn try_get(store: &Store<Pod>, key: &ObjectRef<Pod>) -> anyhow::Result<Option<Arc<Pod>>> {
    Ok(store.try_get(key)?)
}

/// A controller that reconciles an object only if its resourceVersion has changed.
fn controller_of_changes(api: Api<Pod>, config: watcher::Config, cache: CacheKind) -> Controller<Pod> {
    let config = if cache == CacheKind::Compact { config.compact_cache() } else { config };
    Controller::new(api, config).filter_metadata(predicates::resource_version)
}
