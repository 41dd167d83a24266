//! A server with one running pod; the tests of kube-tools include this file.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{Patch, PatchParams, PostParams};
use kube_client::{Api, Client};
use kube_testserver::TestServer;
use serde_json::json;

use crate::server::config_of;

/// A server with the pod `web`, over TLS.
pub(crate) async fn with_pod() -> (Api<Pod>, TestServer) {
    let server = TestServer::builder().tls().start().await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(Client::try_from(config_of(&server)).unwrap());
    create_running(&pods).await;
    (pods, server)
}

/// Creates the pod `web`, which runs.
pub(crate) async fn create_running(pods: &Api<Pod>) {
    let spec = json!({"nodeName": "node", "containers": [{"name": "main", "image": "i"}]});
    let pod = serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": spec})).unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    let running = Patch::Merge(json!({"status": {"phase": "Running"}}));
    pods.patch_status("web", &PatchParams::default(), &running).await.unwrap();
}

/// Waiting for ever is a failure.
pub(crate) async fn within<F: Future>(call: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(30), call).await.expect("the call should not have to wait")
}
