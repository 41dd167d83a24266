//! What scripts do with a cluster: list, read logs, run a command.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::api::PostParams;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::pods::{
    CopyError, CopyParams, ExecError, ExecParams, ForwardPort, ForwardTarget, LogLinesError, LogLinesParams,
};
use kube_testserver::{BuiltInController, TestServer};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use k8s_openapi::api::apps::v1::Deployment;
use std::pin::pin;

// ANCHOR: list
use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ListParams, LogParams};
use kube::prelude::*;
use kube::{Api, Client};

/// Names and phases of the pods of an app, of all namespaces. A page of 500 at a time is requested, and one is in memory.
async fn phases(client: Client, app: &str) -> kube::Result<Vec<String>> {
    let mut pods = Api::<Pod>::all(client).list_stream(&ListParams::default().labels(&format!("app={app}")));
    let mut found = Vec::new();
    while let Some(pod) = pods.try_next().await? {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Unknown");
        found.push(format!("{}/{} {phase}", pod.namespace().unwrap_or_default(), pod.name_any()));
    }
    Ok(found)
}
// ANCHOR_END: list

// ANCHOR: table
/// The pods of an app as `kubectl get pods --all-namespaces -o wide` prints them.
async fn pod_table(client: Client, app: &str) -> kube::Result<String> {
    let pods: Api<Pod> = Api::all(client);
    let table = pods.table(&ListParams::default().labels(&format!("app={app}"))).await?;
    Ok(table.printer().with_namespace().wide().to_string())
}
// ANCHOR_END: table

// ANCHOR: update
/// Sets an entry of a ConfigMap. If another client changes the map in the same moment, it is read and changed again.
async fn set(maps: &Api<ConfigMap>, name: &str, key: &str, value: &str) -> kube::Result<ConfigMap> {
    maps.get_or_create(name, ConfigMap::default).await?;
    maps.update_with_retry(name, |map| {
        map.data.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    })
    .await
}
// ANCHOR_END: update

// ANCHOR: logs
/// Prints a log line by line, and the lines that follow if `follow` is set.
async fn logs(pods: &Api<Pod>, name: &str, follow: bool) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let params = LogParams { follow, tail_lines: Some(100), ..LogParams::default() };
    let mut lines = pods.log_stream(name, &params).await?.lines();
    let mut printed = Vec::new();
    while let Some(line) = lines.try_next().await? {
        println!("{line}");
        printed.push(line);
    }
    Ok(printed)
}
// ANCHOR_END: logs

// ANCHOR: pod_logs
/// Prints the last lines of all pods of an app, then new lines, also of restarted containers and of new pods.
async fn tail(pods: &Api<Pod>, app: &str) -> Result<(), LogLinesError> {
    let params = LogLinesParams::default().labels(&format!("app={app}")).tail(10).follow();
    let mut lines = pods.log_lines(&params);
    while let Some(line) = lines.try_next().await? {
        println!("{line}"); // [pod/web-1/web] text
    }
    Ok(())
}
// ANCHOR_END: pod_logs

// ANCHOR: exec
/// Runs a command in a container, without a shell. Needs the feature `ws`.
async fn exec(pods: &Api<Pod>, name: &str, command: &[&str]) -> Result<String, ExecError> {
    let output = pods.exec_output(name, command.iter().copied(), &ExecParams::default()).await?;
    Ok(String::from_utf8_lossy(&output.exit_ok()?.stdout).into_owned())
}
// ANCHOR_END: exec

// ANCHOR: rollout
/// Restarts a deployment and prints the progress, as `kubectl rollout restart` and `kubectl rollout status` do.
async fn rollout(deployments: &Api<Deployment>, name: &str) -> Result<String, Box<dyn std::error::Error>> {
    deployments.restart(name).await?;
    let (mut last, mut progress) = (String::new(), pin!(deployments.rollout_status(name)));
    while let Some(status) = progress.try_next().await? {
        println!("{status}");
        last = status.to_string();
    }
    Ok(last)
}
// ANCHOR_END: rollout

// ANCHOR: wait
/// Waits as `kubectl wait` does, at most a minute.
async fn wait(deployments: &Api<Deployment>, name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let minute = Duration::from_secs(60);
    deployments.wait_ready(name, minute).await?;
    deployments.wait_for(name, &"condition=Available".parse()?, minute).await?;
    deployments.wait_for(name, &"jsonpath={.status.readyReplicas}=2".parse()?, minute).await?;
    Ok(())
}
// ANCHOR_END: wait

// ANCHOR: copy
/// Sends a file, and receives a directory. Needs the feature `cp`, and `tar` in the container.
async fn copy(pods: &Api<Pod>, pod: &str, input: &Path, results: &Path) -> Result<u64, CopyError> {
    pods.copy_to(pod, input, "/tmp/input", &CopyParams::default()).await?;
    let copied = pods.copy_from(pod, "/tmp", results, &CopyParams::default().retries(3)).await?;
    Ok(copied.bytes)
}
// ANCHOR_END: copy

// ANCHOR: forward
/// Asks a Service by a local port, until the forwarder is dropped.
async fn ask(pods: &Api<Pod>, service: &str) -> Result<String, Box<dyn std::error::Error>> {
    let target = ForwardTarget::Service(service.to_owned());
    let forwarder = pods.forward(&target, &[ForwardPort::to("http")]).await?;
    let mut connection = TcpStream::connect(forwarder.local_addrs()[0]).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer)
}
// ANCHOR_END: forward

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
