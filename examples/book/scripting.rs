//! What scripts do with a cluster: list, read logs, run a command.

use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube_testserver::{BuiltInController, TestServer};
use serde_json::json;

// ANCHOR: list
use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{AttachParams, ListParams, LogParams};
use kube::{Api, Client, ResourceExt};
use tokio::io::AsyncReadExt;

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

// ANCHOR: exec
/// Runs a command in a container, without a shell. Needs the feature `ws`.
async fn exec(pods: &Api<Pod>, name: &str, command: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    let mut process =
        pods.exec(name, command.iter().copied(), &AttachParams::default().stderr(false)).await?;
    let mut output = String::new();
    process.stdout().ok_or("no standard output")?.read_to_string(&mut output).await?;
    let status = process.take_status().ok_or("no status")?.await;
    process.join().await?;
    match status {
        Some(status) if status.status.as_deref() == Some("Success") => Ok(output),
        status => Err(format!("the command failed: {status:?}").into()),
    }
}
// ANCHOR_END: exec

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
    assert!(exec(&pods, "web", &["false"]).await.unwrap_err().to_string().contains("NonZeroExitCode"));
}
