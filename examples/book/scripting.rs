//! What scripts do with a cluster: list, read logs, run a command.

use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube_testserver::{BuiltInController, TestServer};
use serde_json::json;

use k8s_openapi::api::apps::v1::Deployment;
use std::pin::pin;
use std::time::Duration;

// ANCHOR: list
use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{AttachParams, ListParams, LogParams};
use kube::{Api, Client, ResourceExt};
use tokio::io::AsyncReadExt;

/// Names and phases of the pods of an app, of all namespaces. A page of 500 at a time, so that the server is not asked for everything.
async fn phases(client: Client, app: &str) -> kube::Result<Vec<String>> {
    let pods: Api<Pod> = Api::all(client);
    let mut params = ListParams::default().labels(&format!("app={app}")).limit(500);
    let mut found = Vec::new();
    loop {
        let page = pods.list(&params).await?;
        let next = page.metadata.continue_.clone();
        for pod in page {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Unknown");
            found.push(format!("{}/{} {phase}", pod.namespace().unwrap_or_default(), pod.name_any()));
        }
        match next.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(found),
        }
    }
}
// ANCHOR_END: list

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

    server.api().kubelet().log("default", "web", "web", "one\ntwo\n");
    let pods: Api<Pod> = Api::default_namespaced(client);
    assert_eq!(logs(&pods, "web", false).await.unwrap(), ["one", "two"]);

    assert_eq!(exec(&pods, "web", &["echo", "hello"]).await.unwrap(), "hello\n");
    assert!(exec(&pods, "web", &["false"]).await.unwrap_err().to_string().contains("NonZeroExitCode"));
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
