//! `Api::exec_output` against scripts of the embedded server.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use kube_client::api::{Patch, PatchParams, PostParams};
use kube_testserver::{FaultResponse, Match, Process};
use kube_tools::ApiExt as _;
use kube_tools::pods::{ExecError, ExecParams};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::running_pod::{with_pod, within};
use crate::tasks::{alive_tasks, wait_for_tasks};

#[tokio::test]
async fn a_command_has_an_exit_code_and_all_of_its_output() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_exec(async |mut process: Process| {
        let mut input = Vec::new();
        process.stdin.read_to_end(&mut input).await.unwrap();
        process.stdout.write_all(&input).await.unwrap();
        process.stderr.write_all(format!("{:?}", process.command).as_bytes()).await.unwrap();
        3
    });
    // More than all buffers on the way hold.
    let input = vec![b'x'; 3 << 20];
    let params = ExecParams::default().stdin(input.clone());
    let output = within(pods.exec_output("web", ["run", "a b"], &params)).await.unwrap();
    assert_eq!((output.status.code(), output.status.success()), (3, false));
    assert!(output.stdout == input);
    assert_eq!(output.stderr, br#"["run", "a b"]"#);
    let err = output.exit_ok().unwrap_err().to_string();
    assert_eq!(err, r#"`run a b` in pod web failed with exit code 3: ["run", "a b"]"#);
    server.shutdown().await;
}

#[tokio::test]
async fn a_command_that_prints_too_much_runs_to_its_end() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_exec(async |mut process: Process| {
        process.stdout.write_all(&vec![b'x'; 3 << 20]).await.unwrap();
        process.stderr.write_all(b"careful").await.unwrap();
        5
    });
    let params = ExecParams::default().limit(1000);
    let err = within(pods.exec_output("web", ["yes"], &params)).await.unwrap_err();
    assert_eq!(err.to_string(), "`yes` in pod web printed more than 1000 bytes, the limit of ExecParams");
    let ExecError::OutputLimit { output, .. } = err else { panic!("{err:?}") };
    assert_eq!((output.status.code(), output.stdout.len()), (5, 1000));
    assert_eq!(output.stderr, b"careful");
    let all = within(pods.exec_output("web", ["yes"], &ExecParams::default())).await.unwrap();
    assert_eq!(all.stdout.len(), 3 << 20);
    server.shutdown().await;
}

#[tokio::test]
async fn a_command_that_does_not_read_its_input_is_no_error() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_exec(async |process: Process| {
        drop(process.stdin);
        0
    });
    let params = ExecParams::default().stdin(vec![0; 3 << 20]);
    let output = within(pods.exec_output("web", ["true"], &params)).await.unwrap();
    assert!(output.status.success());
    server.shutdown().await;
}

#[tokio::test]
async fn what_is_no_command_or_no_pod_is_named() {
    let (pods, server) = with_pod().await;
    let err = within(pods.exec_output("web", ["nonsense"], &ExecParams::default())).await.unwrap_err();
    assert!(matches!(&err, ExecError::NotRun { .. }), "{err:?}");
    let text = err.to_string();
    assert!(text.starts_with("cannot run `nonsense` in pod web: ") && text.contains("not found"), "{text}");
    let err = within(pods.exec_output("none", ["ls"], &ExecParams::default())).await.unwrap_err();
    assert!(err.to_string().contains("pods \"none\" not found"), "{err}");
    let params = ExecParams::default().container("other");
    let err = within(pods.exec_output("web", ["ls"], &params)).await.unwrap_err().to_string();
    assert!(err.contains("container other is not valid"), "{err}");
    let err = within(pods.exec_output("a/b", ["ls"], &ExecParams::default())).await.unwrap_err();
    assert!(matches!(err, ExecError::Request { .. }));
    server.shutdown().await;
}

/// The pod `two`, whose default container is the second.
pub(crate) async fn create_with_sidecar(pods: &Api<Pod>) {
    create_two(pods, "two", Some("app")).await;
}

async fn create_two(pods: &Api<Pod>, name: &str, default: Option<&str>) {
    let mut pod = json!({"metadata": {"name": name}, "spec": {"nodeName": "node", "containers": [
        {"name": "proxy", "image": "i"}, {"name": "app", "image": "i"}], "initContainers": [{"name": "setup", "image": "i"}]}});
    if let Some(default) = default {
        pod["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/default-container": default});
    }
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let running = Patch::Merge(json!({"status": {"phase": "Running"}}));
    pods.patch_status(name, &PatchParams::default(), &running).await.unwrap();
}

#[tokio::test]
async fn a_command_runs_in_the_container_that_kubectl_would_use() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_exec(async |mut process: Process| {
        let name = process.container.name.clone();
        process.stdout.write_all(name.as_bytes()).await.unwrap();
    });
    for (name, default, expected) in
        [("named", Some("app"), "app"), ("none", None, "proxy"), ("init", Some("setup"), "setup")]
    {
        create_two(&pods, name, default).await;
        let output = within(pods.exec_output(name, ["id"], &ExecParams::default())).await.unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{name}");
    }
    let params = ExecParams::default().container("typo");
    let err = within(pods.exec_output("named", ["id"], &params)).await.unwrap_err();
    let expected = "cannot run `id` in pod named: container typo is not valid for pod named out of: proxy, app, setup (init)";
    assert!(err.to_string().starts_with(expected), "{err}");
    create_two(&pods, "unknown", Some("other")).await;
    let err = within(pods.exec_output("unknown", ["id"], &ExecParams::default())).await.unwrap_err();
    let expected = "container other is not valid for pod unknown out of: proxy, app, setup (init)";
    assert!(err.to_string().contains(expected), "{err}");
    let err = within(pods.exec_output("missing", ["id"], &ExecParams::default())).await.unwrap_err();
    assert!(err.to_string().contains("pods \"missing\" not found"), "{err}");
    server.shutdown().await;
}

#[tokio::test]
async fn without_permission_to_read_pods_the_server_chooses_the_container() {
    let (pods, server) = with_pod().await;
    let _rule = server.fault(Match::get::<Pod>(), FaultResponse::status(403, "Forbidden"));
    server.api().kubelet().on_exec(async |_: Process| 3);
    let output = within(pods.exec_output("web", ["id"], &ExecParams::default())).await.unwrap();
    assert_eq!(output.status.code(), 3);
    let err = within(pods.exec_output("web", ["id"], &ExecParams::default().container("typo"))).await;
    assert!(err.unwrap_err().to_string().contains("container typo is not valid for pod web"));
    server.shutdown().await;
}

#[tokio::test]
async fn a_command_whose_server_stops_is_cut_off() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_exec(async |mut process: Process| {
        process.stdout.write_all(b"half").await.unwrap();
        std::future::pending::<i32>().await
    });
    let running = tokio::spawn({
        let pods = pods.clone();
        async move { pods.exec_output("web", ["sleep"], &ExecParams::default()).await }
    });
    while server.api().kubelet().sessions().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.shutdown().await;
    let err = within(running).await.unwrap().unwrap_err();
    assert!(err.to_string().starts_with("`sleep` in pod web was cut off: "), "{err}");
}

#[tokio::test]
async fn a_dropped_call_leaves_no_task_behind() {
    let (pods, server) = with_pod().await;
    server.api().kubelet().on_exec(async |_: Process| std::future::pending::<i32>().await);
    let params = ExecParams::default().stdin("x");
    let cancelled = async || {
        let call = pods.exec_output("web", ["sleep"], &params);
        assert!(tokio::time::timeout(Duration::from_millis(300), call).await.is_err());
    };
    cancelled().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let tasks = alive_tasks();
    for _ in 0..3 {
        cancelled().await;
    }
    wait_for_tasks(tasks).await;
    server.shutdown().await;
}
