//! The debug endpoints of a kubelet, end to end: a layer maps their paths to the embedded server's pods.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use futures::AsyncBufReadExt;
use http::{Request, Uri};
use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{AttachParams, LogParams, Patch, PatchParams, PostParams};
use kube_client::client::{Body, ClientBuilder};
use kube_client::{Api, Client};
use kube_core::kubelet_debug::KubeletDebugParams;
use kube_testserver::{Process, TestServer};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::util::MapRequestLayer;

use crate::server::config_of;

/// `/exec/shop/web/main?output=1` is `/api/v1/namespaces/shop/pods/web/exec?container=main&stdout=1` of an API server.
fn to_api_server(mut request: Request<Body>) -> Request<Body> {
    let parts: Vec<_> = request.uri().path().split('/').skip(1).collect();
    let (verb, container) = match parts[..] {
        ["exec", _, _, container] => ("exec", container),
        ["attach", _, _, container] => ("attach", container),
        ["containerLogs", _, _, container] => ("log", container),
        ["portForward", _, _] => ("portforward", ""),
        _ => panic!("{}", request.uri()),
    };
    let mut query = request.uri().query().unwrap_or_default().to_owned();
    for (kubelet, server) in
        [("input=", "stdin="), ("output=", "stdout="), ("error=", "stderr="), ("port=", "ports=")]
    {
        query = query.replace(kubelet, server);
    }
    let path = format!("/api/v1/namespaces/{}/pods/{}/{verb}", parts[1], parts[2]);
    let uri: Uri = format!("{path}?container={container}&{query}").parse().unwrap();
    *request.uri_mut() = uri;
    request
}

#[tokio::test]
async fn exec_attach_port_forward_and_logs_work_through_the_kubelet_paths() {
    let server = TestServer::builder().tls().start().await.unwrap();
    let kubelet = server.api().kubelet();
    kubelet.on_exec(async |mut process: Process| {
        process.stdout.write_all(process.command.join(" ").as_bytes()).await.unwrap();
    });
    kubelet.on_attach(async |mut process: Process| {
        process.stdout.write_all(b"attached").await.unwrap();
    });
    kubelet.on_port_forward(async |mut connection| {
        connection.stream.write_all(format!("port {}", connection.port).as_bytes()).await.unwrap();
        Ok(())
    });
    kubelet.log("shop", "web", "main", "hello");
    let pods: Api<Pod> = Api::namespaced(Client::try_from(config_of(&server)).unwrap(), "shop");
    server.api().load("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n").unwrap();
    let spec = json!({"nodeName": "node", "containers": [{"name": "main", "image": "i"}]});
    let pod = serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": spec})).unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    let running = Patch::Merge(json!({"status": {"phase": "Running"}}));
    pods.patch_status("web", &PatchParams::default(), &running).await.unwrap();

    let builder = ClientBuilder::try_from(config_of(&server)).unwrap();
    let node = builder.with_layer(&MapRequestLayer::new(to_api_server)).build();
    let pod = KubeletDebugParams { name: "web", namespace: "shop", ..KubeletDebugParams::default() };
    let params = AttachParams::default();
    let mut received = String::new();
    let mut process = node.kubelet_node_exec(&pod, "main", ["say", "it"], &params).await.unwrap();
    process.stdout().unwrap().read_to_string(&mut received).await.unwrap();
    process.join().await.unwrap();
    let mut process = node.kubelet_node_attach(&pod, "main", &params).await.unwrap();
    process.stdout().unwrap().read_to_string(&mut received).await.unwrap();
    let mut forwarder = node.kubelet_node_portforward(&pod, &[8080]).await.unwrap();
    forwarder.take_stream(8080).unwrap().read_to_string(&mut received).await.unwrap();
    let mut log = Box::pin(node.kubelet_node_logs(&pod, "main", &LogParams::default()).await.unwrap());
    log.read_line(&mut received).await.unwrap();
    assert_eq!(received, "say itattachedport 8080hello\n");
    server.shutdown().await;
}
