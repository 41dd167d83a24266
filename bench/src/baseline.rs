//! The workload, compiled against kube 5.0.0.

use ::baseline as kube;
use ::baseline::api::ListParams;
use ::baseline::client::{Body, ConfigExt};
use ::baseline::runtime::watcher;
use ::baseline::{Api, Client, Config};
use k8s_openapi::api::core::v1::Pod;

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
    let mut pods = Api::<Pod>::default_namespaced(client).list(&ListParams::default()).await?.items;
    if pruned {
        pods.iter_mut().for_each(|pod| pod.metadata.managed_fields = None);
    }
    Ok(pods)
}

/// Unchanged: the baseline has no such setting, so the workload removes `managedFields` after decoding.
fn pruned_config(config: watcher::Config) -> watcher::Config {
    config
}
