//! `Api::log_lines` against pods of the embedded server.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{DeleteParams, LogParams, Patch, PatchParams, PostParams};
use kube_client::{Api, Client};
use kube_testserver::{BuiltInController, Fault, FaultResponse, Match, TestServer};
use kube_tools::ApiExt as _;
use kube_tools::pods::{LogLine, LogLines, LogLinesError, LogLinesParams};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::cutter::Cutter;
use crate::server::config_of;
use crate::tasks::{alive_tasks, wait_for_tasks};

async fn server() -> (TestServer, Api<Pod>) {
    let server = TestServer::builder().with(BuiltInController::Kubelet).tls().start().await.unwrap();
    let pods = Api::default_namespaced(Client::try_from(config_of(&server)).unwrap());
    (server, pods)
}

async fn create(pods: &Api<Pod>, name: &str) -> Pod {
    let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "i"}, {"name": "side", "image": "i"}],
            "initContainers": [{"name": "setup", "image": "i"}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap()
}

fn log(server: &TestServer, pod: &str, container: &str, text: &str) {
    server.api().kubelet().log("default", pod, container, text);
}

async fn next(lines: &mut LogLines) -> String {
    let line = tokio::time::timeout(Duration::from_secs(20), lines.try_next()).await;
    line.expect("a line comes in time").unwrap().unwrap().to_string()
}

async fn all(pods: &Api<Pod>, params: LogLinesParams) -> Vec<String> {
    let lines: Vec<LogLine> =
        tokio::time::timeout(Duration::from_secs(20), pods.log_lines(&params).try_collect())
            .await
            .expect("the stream ends")
            .unwrap();
    let mut texts: Vec<String> = lines.iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

#[tokio::test]
async fn the_logs_of_a_selector_are_read_to_their_end() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    create(&pods, "b").await;
    for (pod, container) in [("a", "main"), ("a", "side"), ("a", "setup"), ("b", "main")] {
        log(&server, pod, container, "1\n2");
    }
    let params = LogLinesParams::default().labels("app=web");
    let main = [
        "[pod/a/main] 1",
        "[pod/a/main] 2",
        "[pod/a/side] 1",
        "[pod/a/side] 2",
        "[pod/b/main] 1",
        "[pod/b/main] 2",
    ];
    assert_eq!(all(&pods, params.clone()).await, main);
    assert_eq!(all(&pods, params.clone().container("setup").tail(1)).await, ["[pod/a/setup] 2"]);
    assert_eq!(all(&pods, params.clone().all_containers()).await.len(), 8);
    assert_eq!(all(&pods, params.fields("metadata.name=b")).await.len(), 2);
    let cluster: Api<Pod> = Api::all(pods.clone().into_client());
    assert_eq!(all(&cluster, LogLinesParams::default()).await, main);
    assert!(all(&pods, LogLinesParams::default().labels("app=none")).await.is_empty());
    let mut text = String::new();
    let one = LogParams { container: Some("main".into()), ..LogParams::default() };
    pods.log_reader("a", &one).await.unwrap().read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "1\n2\n");
    server.shutdown().await;
}

#[tokio::test]
async fn new_pods_restarts_and_deletions_are_followed() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    log(&server, "a", "main", "old\nlast");
    let params = LogLinesParams::default().labels("app=web").container("main").tail(2).follow();
    let mut lines = pods.log_lines(&params);
    assert_eq!(next(&mut lines).await, "[pod/a/main] old");
    assert_eq!(next(&mut lines).await, "[pod/a/main] last");
    log(&server, "a", "main", "new");
    assert_eq!(next(&mut lines).await, "[pod/a/main] new");

    // A new pod is read from its beginning.
    log(&server, "b", "main", "first\nsecond");
    create(&pods, "b").await;
    assert_eq!(next(&mut lines).await, "[pod/b/main] first");
    assert_eq!(next(&mut lines).await, "[pod/b/main] second");

    // A restart: the log begins again.
    server.api().kubelet().rotate_log("default", "a", "main");
    log(&server, "a", "main", "restarted");
    let mut restarted = pods.get("a").await.unwrap();
    restarted.status.as_mut().unwrap().container_statuses.as_mut().unwrap()[0].restart_count = 1;
    pods.replace_status("a", &PostParams::default(), &restarted).await.unwrap();
    assert_eq!(next(&mut lines).await, "[pod/a/main] restarted");

    // The same name again is another pod.
    pods.delete("b", &DeleteParams::default().grace_period(0)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    create(&pods, "b").await;
    log(&server, "b", "main", "another");
    assert_eq!(next(&mut lines).await, "[pod/b/main] another");
    server.shutdown().await;
}

#[tokio::test]
async fn what_was_printed_before_a_restart_is_not_lost() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    log(&server, "a", "main", "one");
    let (client, cutter) = Cutter::between(&server).await;
    let watched: Api<Pod> = Api::default_namespaced(client);
    let mut lines = watched.log_lines(&LogLinesParams::default().container("main").follow());
    assert_eq!(next(&mut lines).await, "[pod/a/main] one");
    // While the connection is down, the container prints, ends and starts again.
    cutter.cut();
    log(&server, "a", "main", "two");
    server.api().kubelet().rotate_log("default", "a", "main");
    log(&server, "a", "main", "three");
    let mut restarted = pods.get("a").await.unwrap();
    restarted.status.as_mut().unwrap().container_statuses.as_mut().unwrap()[0].restart_count = 1;
    pods.replace_status("a", &PostParams::default(), &restarted).await.unwrap();
    let rest = [next(&mut lines).await, next(&mut lines).await];
    assert_eq!(rest, ["[pod/a/main] two", "[pod/a/main] three"]);
    server.shutdown().await;
}

#[tokio::test]
async fn interruptions_neither_lose_nor_repeat_lines() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    let (client, cutter) = Cutter::between(&server).await;
    let watched: Api<Pod> = Api::default_namespaced(client);
    let mut lines = watched.log_lines(&LogLinesParams::default().container("main").follow());
    let mut expected = Vec::new();
    let mut received = Vec::new();
    for round in 0..6 {
        for number in 0..5 {
            let text = format!("{round}.{number}");
            log(&server, "a", "main", &text);
            expected.push(format!("[pod/a/main] {text}"));
        }
        match round % 3 {
            0 => cutter.cut(),
            1 => server.end_watches(),
            _ => {}
        }
        for _ in 0..3 {
            received.push(next(&mut lines).await);
        }
    }
    while received.len() < expected.len() {
        received.push(next(&mut lines).await);
    }
    assert_eq!(received, expected);
    let more = tokio::time::timeout(Duration::from_secs(2), lines.next()).await;
    assert!(more.is_err(), "{more:?}");
    server.shutdown().await;
}

#[tokio::test]
async fn a_slow_reader_holds_the_log_back() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    let text = "x".repeat(1000);
    let mut lines = pods.log_lines(&LogLinesParams::default().container("main").follow());
    for number in 0..20_000 {
        log(&server, "a", "main", &format!("{number} {text}"));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    for number in 0..20_000 {
        let line =
            tokio::time::timeout(Duration::from_secs(20), lines.try_next()).await.unwrap().unwrap().unwrap();
        assert!(line.text.starts_with(&format!("{number} ")), "{number}: {}", &line.text[..10]);
    }
    server.shutdown().await;
}

#[tokio::test]
async fn what_is_forbidden_is_named_and_the_rest_goes_on() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    create(&pods, "b").await;
    log(&server, "a", "main", "one");
    log(&server, "b", "main", "two");
    let forbidden = FaultResponse::status(403, "Forbidden");
    let _rule = server.fault(Match::path("/api/v1/namespaces/default/pods/a/log"), forbidden);
    let mut lines = pods.log_lines(&LogLinesParams::default().container("main"));
    let (mut texts, mut errors) = (Vec::new(), Vec::new());
    while let Some(item) = tokio::time::timeout(Duration::from_secs(20), lines.next()).await.unwrap() {
        match item {
            Ok(line) => texts.push(line.text),
            Err(err) => errors.push(err),
        }
    }
    assert_eq!(texts, ["two"]);
    let [err @ LogLinesError::Container { .. }] = &errors[..] else { panic!("{errors:?}") };
    assert!(err.to_string().starts_with("cannot read the log of container main of pod default/a: "), "{err}");
    server.shutdown().await;
}

#[tokio::test]
async fn a_forbidden_list_ends_the_stream() {
    let (server, pods) = server().await;
    let _rule = server.fault(Match::list::<Pod>(), FaultResponse::status(403, "Forbidden"));
    for params in [LogLinesParams::default(), LogLinesParams::default().follow()] {
        let mut lines = pods.log_lines(&params);
        let first = tokio::time::timeout(Duration::from_secs(20), lines.next()).await.unwrap();
        assert!(matches!(first, Some(Err(LogLinesError::Pods { .. }))), "{first:?}");
        assert!(tokio::time::timeout(Duration::from_secs(20), lines.next()).await.unwrap().is_none());
    }
    server.shutdown().await;
}

#[tokio::test]
async fn an_expired_watch_is_listed_again() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    log(&server, "a", "main", "one");
    let mut lines = pods.log_lines(&LogLinesParams::default().container("main").follow());
    assert_eq!(next(&mut lines).await, "[pod/a/main] one");
    let _rule = server.fault(Match::watch::<Pod>().nth(1), Fault::Expired);
    server.end_watches();
    tokio::time::sleep(Duration::from_millis(100)).await;
    log(&server, "b", "main", "two");
    create(&pods, "b").await;
    assert_eq!(next(&mut lines).await, "[pod/b/main] two");
    server.shutdown().await;
}

#[tokio::test]
async fn a_dropped_stream_leaves_no_task_behind() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    log(&server, "a", "main", "one");
    let once = async || {
        let mut lines = pods.log_lines(&LogLinesParams::default().all_containers().follow());
        next(&mut lines).await;
    };
    once().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let tasks = alive_tasks();
    for _ in 0..20 {
        once().await;
    }
    wait_for_tasks(tasks).await;
    // A label that is taken away ends the stream's interest, but nothing of the pod.
    let params = LogLinesParams::default().labels("app=web").container("main").follow();
    let mut lines = pods.log_lines(&params);
    next(&mut lines).await;
    let patch = Patch::Merge(json!({"metadata": {"labels": {"app": null}}}));
    pods.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert!(pods.get("a").await.is_ok());
    server.shutdown().await;
}
