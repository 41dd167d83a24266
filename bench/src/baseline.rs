//! The measured program over the peer.

use k8s_openapi::api::core::v1::Pod;
use peer as kube;
use peer::api::ListParams;
use peer::client::{Body, ConfigExt};
use peer::runtime::watcher;
use peer::{Api, Client, Config};

#[path = "side/mod.rs"]
pub(crate) mod side;

/// Its default is HTTP/1.1, with a connection for each request under way. Its parts can be put over HTTP/2, which it then speaks by
/// the same `hyper-util` as by default. Layers of its default stack that it has no public name for are left out, in its favour.
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
