//! The workload, compiled against kube 5.0.0.

use std::fmt::Debug;
use std::sync::Arc;

use ::baseline as kube;
use ::baseline::api::ListParams;
use ::baseline::client::{Body, ConfigExt};
use ::baseline::runtime::reflector::{self, ObjectRef, Store};
use ::baseline::runtime::{Controller, PredicateConfig, WatchStreamExt, controller, predicates, watcher};
use ::baseline::{Api, Client, Config, Resource};
use futures::{FutureExt, StreamExt};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Pod;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::case::CacheKind;
use workload::Cache;

#[path = "workload/mod.rs"]
pub(crate) mod workload;

/// The default of the baseline is HTTP/1.1 with one connection per concurrent request. This client uses its public layers over `hyper-util`
/// with HTTP/2 instead. Layers of its default stack that are not public are missing, which favours the baseline.
fn over_one_connection(config: Config) -> anyhow::Result<Client> {
    let tls = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config()?);
    let connector = tls.https_only().enable_http2().build();
    let mut http = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new());
    let http = http.http2_only(true).build::<_, Body>(connector);
    let service = tower::ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(tower::BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}

/// Lists all Pods. `pruned`: removes `managedFields` after decoding, because the baseline cannot skip them.
async fn list(client: Client, pruned: bool) -> baseline::Result<Vec<Pod>> {
    let mut pods = pods(client, pruned).list(&ListParams::default()).await?.items;
    if pruned {
        pods.iter_mut().for_each(drop_managed_fields);
    }
    Ok(pods)
}

/// The baseline cannot skip fields.
fn pods(client: Client, _pruned: bool) -> Api<Pod> {
    Api::default_namespaced(client)
}

fn drop_managed_fields(pod: &mut Pod) {
    pod.metadata.managed_fields = None;
}

/// Unchanged: the baseline has no such setting, so the workload removes `managedFields` after decoding.
fn pruned_config(config: watcher::Config) -> watcher::Config {
    config
}

/// An ordinary cache: the baseline has no compact one.
fn compact_cache<K>(client: Client, config: watcher::Config) -> Cache<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned,
    K: Debug + Send + Sync + 'static,
{
    let (store, writer) = reflector::store();
    let (completed, lists) = watch::channel(0);
    let events = watcher(Api::default_namespaced(client), config).default_backoff();
    let filling = reflector::reflector(writer, events).for_each(move |event| {
        if let Ok(watcher::Event::InitDone) = event {
            completed.send_modify(|lists| *lists += 1);
        }
        std::future::ready(())
    });
    Cache { store, filling: filling.boxed(), lists }
}

/// The baseline has one line for all.
fn tenants_config() -> controller::Config {
    controller::Config::default().concurrency(10)
}

/// Reads the cache, which contains decoded objects.
fn try_get(store: &Store<Pod>, key: &ObjectRef<Pod>) -> anyhow::Result<Option<Arc<Pod>>> {
    Ok(store.get(key))
}

/// A controller that reconciles an object only if its resourceVersion has changed. It always has an ordinary cache.
fn controller_of_changes(api: Api<Pod>, config: watcher::Config, _cache: CacheKind) -> Controller<Pod> {
    let (store, writer) = reflector::store();
    let changes = watcher(api, config)
        .default_backoff()
        .reflect(writer)
        .applied_objects()
        .predicate_filter(predicates::resource_version, PredicateConfig::default());
    Controller::for_stream(changes, store)
}
