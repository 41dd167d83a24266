//! The workload, compiled against this workspace.

use std::fmt::Debug;
use std::sync::Arc;

use ::kube;
use futures::{FutureExt, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::client::Prune;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Controller, controller, predicates, watcher};
use kube::{Api, Client, Config, Resource};
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
    Ok(pods(client, pruned).list(&ListParams::default()).await?.items)
}

/// `pruned`: the decoder skips `managedFields`.
fn pods(client: Client, pruned: bool) -> Api<Pod> {
    let api = Api::default_namespaced(client);
    if pruned { api.prune(Prune::default().managed_fields()) } else { api }
}

/// Nothing is left to drop.
fn drop_managed_fields(_: &mut Pod) {}

/// Makes the watcher skip `managedFields`.
fn pruned_config(config: watcher::Config) -> watcher::Config {
    config.without_managed_fields()
}

fn compact_cache<K>(client: Client, config: watcher::Config) -> Cache<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned,
    K: Debug + Send + Sync + 'static,
{
    let (store, writer) = reflector::compact_store();
    let (completed, lists) = watch::channel(0);
    let filling = writer.watch(Api::default_namespaced(client), config).for_each(move |event| {
        if let Ok(watcher::Event::InitDone) = event {
            completed.send_modify(|lists| *lists += 1);
        }
        std::future::ready(())
    });
    Cache { store, filling: filling.boxed(), lists }
}

/// A lane for each namespace.
fn tenants_config() -> controller::Config {
    controller::Config::default().concurrency(10).fair_by_namespace()
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
