//! Logs, commands and ports of pods: the server runs scripts in the place of containers.

// ANCHOR: all
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::pods::{ExecParams, ForwardPort, ForwardTarget, LogLinesParams};
use kube::prelude::*;
use kube::{Api, Client};
use kube_testserver::{BuiltInController, Process, TestServer};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_pod_has_logs_commands_and_ports() {
    // Commands and ports are websockets, so this needs a socket. The kubelet starts what is created.
    let server = TestServer::builder().with(BuiltInController::Kubelet).start().await.unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client);
    let web = json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();

    // What the containers print, answer and serve.
    let kubelet = server.api().kubelet();
    kubelet.log("default", "web", "main", "starting\nready");
    kubelet.on_exec(async |mut process: Process| {
        process.stdout.write_all(process.command.join(" ").as_bytes()).await.unwrap();
        3 // the exit code
    });
    kubelet.on_port_forward(async |mut connection| {
        let hello = format!("port {}", connection.port);
        connection.stream.write_all(hello.as_bytes()).await.map_err(|err| err.to_string())
    });

    let mut lines = pods.log_lines(&LogLinesParams::default().labels("app=web").tail(1).follow());
    assert_eq!(lines.try_next().await.unwrap().unwrap().to_string(), "[pod/web/main] ready");

    let output = pods.exec_output("web", ["id", "-u"], &ExecParams::default()).await.unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (3, &b"id -u"[..]));

    let target = ForwardTarget::Pod("web".to_owned());
    let forwarder = pods.forward(&target, &[ForwardPort::to(8080)]).await.unwrap();
    let mut connection = TcpStream::connect(forwarder.local_addrs()[0]).await.unwrap();
    let mut text = String::new();
    connection.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "port 8080");
}
// ANCHOR_END: all
