//! What scripts do with a cluster: list, read logs, run a command. The page "Script a cluster" shows them.
//!
//! `list`, `table` and `update` are about objects; `logs`, `pod_logs`, `exec`, `copy` and `forward` about pods; `wait` and `rollout` about
//! workloads.

mod copy;
mod exec;
mod forward;
mod list;
mod logs;
mod pod_logs;
mod rollout;
mod table;
mod update;
mod wait;

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::PostParams;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use kube_testserver::{BuiltInController, TestServer};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use copy::copy;
use exec::exec;
use forward::ask;
use list::phases;
use logs::logs;
use pod_logs::tail;
use rollout::rollout;
use table::pod_table;
use update::set;
use wait::wait;

/// A server with a running pod. Commands need a socket, because they are websockets.
async fn start() -> (TestServer, Client) {
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web", "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "web", "image": "web" }] } });
    let builder = TestServer::builder().with(BuiltInController::Kubelet).with_objects(pod);
    let server = builder.start().await.unwrap();
    let config = Kubeconfig::from_yaml(&server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    (server, Client::try_from(config).unwrap())
}

#[tokio::test]
async fn a_pod_is_listed_read_and_entered() {
    let (server, client) = start().await;
    assert_eq!(phases(client.clone(), "web").await.unwrap(), ["default/web Running"]);
    let table = pod_table(client.clone(), "web").await.unwrap();
    assert!(table.starts_with("NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE   IP"), "{table}");
    assert!(table.contains("\ndefault     web    1/1     Running   0          "), "{table}");
    let map = set(&Api::default_namespaced(client.clone()), "settings", "color", "blue").await.unwrap();
    assert_eq!(map.data.unwrap()["color"], "blue");

    server.api().kubelet().log("default", "web", "web", "one\ntwo\n");
    let pods: Api<Pod> = Api::default_namespaced(client);
    assert_eq!(logs(&pods, "web", false).await.unwrap(), ["one", "two"]);

    assert_eq!(exec(&pods, "web", &["echo", "hello"]).await.unwrap(), "hello\n");
    assert!(
        exec(&pods, "web", &["false"]).await.unwrap_err().to_string().ends_with("failed with exit code 1")
    );

    let followed = tokio::time::timeout(Duration::from_millis(200), tail(&pods, "web")).await;
    assert!(followed.is_err(), "it goes on: {followed:?}");

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "hello").unwrap();
    let results = folder.path().join("results");
    assert_eq!(copy(&pods, "web", &folder.path().join("file"), &results).await.unwrap(), 5);
    assert_eq!(std::fs::read_to_string(results.join("input")).unwrap(), "hello");
}

#[tokio::test]
async fn a_service_is_asked_by_a_local_port() {
    let (server, client) = start().await;
    server.api().kubelet().on_port_forward(async |mut connection| {
        connection.stream.write_all(b"welcome").await.map_err(|err| err.to_string())
    });
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
        "spec": { "selector": { "app": "web" }, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] } });
    let services: Api<Service> = Api::default_namespaced(client.clone());
    services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    assert_eq!(ask(&Api::default_namespaced(client), "web").await.unwrap(), "welcome");
}

#[tokio::test]
async fn a_deployment_is_restarted_and_waited_for() {
    let builder = TestServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let client = Client::new(builder.service().unwrap(), "default");
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let labels = json!({ "app": "web" });
    let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let spec = json!({ "replicas": 2, "selector": { "matchLabels": labels }, "template": template });
    let web = serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": spec })).unwrap();
    deployments.create(&Default::default(), &web).await.unwrap();
    wait(&deployments, "web").await.unwrap();
    assert_eq!(rollout(&deployments, "web").await.unwrap(), r#"deployment "web" successfully rolled out"#);
}
