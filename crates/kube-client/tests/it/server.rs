//! Test servers and clients.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{ObjectMeta, PostParams};
use kube_client::config::Kubeconfig;
use kube_client::{Api, Client, Config};
use kube_testserver::{ApiServer, TestServer};

/// A client of a server in the same process, without a socket.
pub(crate) fn in_process() -> (Client, ApiServer) {
    let server = ApiServer::new();
    (Client::new(server.clone(), "default"), server)
}

/// The configuration for a server that listens on a socket.
pub(crate) fn config_of(server: &TestServer) -> Config {
    let kubeconfig =
        Kubeconfig::from_yaml(&server.kubeconfig()).expect("the server's kubeconfig can be read");
    Config::try_from(kubeconfig).expect("the server's kubeconfig can be used")
}

/// A ConfigMap with one entry.
pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some([("key".to_owned(), value.to_owned())].into()),
        ..ConfigMap::default()
    }
}

/// Creates a ConfigMap: one request and its response.
pub(crate) async fn create(client: &Client, name: &str) -> kube_client::Result<ConfigMap> {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    api.create(&PostParams::default(), &config_map(name, "value")).await
}
