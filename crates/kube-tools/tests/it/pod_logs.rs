//! `Api::log_lines` against pods of the embedded server.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{DeleteParams, LogParams, Patch, PatchParams, PostParams};
use kube_client::client::Body;
use kube_client::{Api, Client};
use kube_testserver::{BuiltInController, Fault, FaultResponse, Match, TestServer};
use kube_tools::ApiExt as _;
use kube_tools::pods::{LogLine, LogLines, LogLinesError, LogLinesParams};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;

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

#[tokio::test]
async fn what_limits_the_first_request_does_not_limit_the_later_ones() {
    let (server, pods) = server().await;
    for (pod, tail, before, first) in [
        ("a", 0, "old", None),
        ("b", 1, "old\nlast", Some("last")),
        ("c", 2, "", None),
        ("d", 9, "last", Some("last")),
    ] {
        create(&pods, pod).await;
        log(&server, pod, "main", before);
        let (client, cutter) = Cutter::between(&server).await;
        let watched: Api<Pod> = Api::default_namespaced(client);
        let name = format!("metadata.name={pod}");
        let params = LogLinesParams::default().fields(&name).container("main").tail(tail).follow();
        let mut lines = watched.log_lines(&params);
        if let Some(first) = first {
            assert_eq!(next(&mut lines).await, format!("[pod/{pod}/main] {first}"));
        } else {
            let early = tokio::time::timeout(Duration::from_millis(500), lines.next()).await;
            assert!(early.is_err(), "{pod}: {early:?}");
        }
        // While the connection is down, more lines come than the tail has.
        for round in 0..2 {
            cutter.cut();
            for number in 0..4 {
                log(&server, pod, "main", &format!("{round}.{number}"));
            }
            for number in 0..4 {
                assert_eq!(
                    next(&mut lines).await,
                    format!("[pod/{pod}/main] {round}.{number}"),
                    "tail {tail}"
                );
            }
        }
        let more = tokio::time::timeout(Duration::from_millis(700), lines.next()).await;
        assert!(more.is_err(), "{pod}: {more:?}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn the_lines_of_a_replaced_pod_come_once_while_the_watch_lags() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    log(&server, "a", "main", "one");
    let (client, cutter) = Cutter::between(&server).await;
    let watched: Api<Pod> = Api::default_namespaced(client);
    let rule = server.fault(Match::watch::<Pod>(), Fault::Stall);
    let mut lines = watched.log_lines(&LogLinesParams::default().container("main").follow());
    assert_eq!(next(&mut lines).await, "[pod/a/main] one");
    pods.delete("a", &DeleteParams::default().grace_period(0)).await.unwrap();
    create(&pods, "a").await;
    log(&server, "a", "main", "two");
    // The task of the first pod asks again for the log of this name.
    tokio::time::sleep(Duration::from_secs(1)).await;
    rule.remove();
    cutter.cut();
    assert_eq!(next(&mut lines).await, "[pod/a/main] two");
    log(&server, "a", "main", "three");
    assert_eq!(next(&mut lines).await, "[pod/a/main] three");
    let more = tokio::time::timeout(Duration::from_secs(2), lines.next()).await;
    assert!(more.is_err(), "{more:?}");
    server.shutdown().await;
}

/// `kubectl label pod a app-`, and back: it is no other pod, and its log goes on.
#[tokio::test]
async fn a_pod_that_is_selected_again_is_read_on() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    log(&server, "a", "main", "before");
    let label = async |value: Option<&str>| {
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "app": value } } }));
        pods.patch("a", &PatchParams::default(), &patch).await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    let params = LogLinesParams::default().labels("app=web").container("main").follow();
    let mut lines = pods.log_lines(&params.tail(1));
    assert_eq!(next(&mut lines).await, "[pod/a/main] before");
    label(None).await;
    log(&server, "a", "main", "unselected");
    let more = tokio::time::timeout(Duration::from_secs(1), lines.next()).await;
    assert!(more.is_err(), "it is not selected: {more:?}");
    label(Some("web")).await;
    log(&server, "a", "main", "after");
    for line in ["unselected", "after"] {
        assert_eq!(next(&mut lines).await, format!("[pod/a/main] {line}"));
    }
    let more = tokio::time::timeout(Duration::from_secs(1), lines.next()).await;
    assert!(more.is_err(), "each line once: {more:?}");
    server.shutdown().await;
}

#[tokio::test]
async fn quiet_containers_do_not_hold_up_the_others() {
    let (server, pods) = server().await;
    for number in 0..12 {
        create(&pods, &format!("quiet-{number}")).await;
    }
    create(&pods, "talks").await;
    log(&server, "talks", "main", "hello");
    // A node sends no head of a response before the first line.
    let quiet = Match::path("/api/v1/namespaces/default/pods/quiet-").subresource("log");
    let _rule = server.fault(quiet, Fault::Stall);
    for params in
        [LogLinesParams::default().container("main").follow(), LogLinesParams::default().container("main")]
    {
        let mut lines = pods.log_lines(&params);
        assert_eq!(next(&mut lines).await, "[pod/talks/main] hello");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn one_refusal_does_not_end_what_is_running() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    log(&server, "a", "main", "one");
    let (client, cutter) = Cutter::between(&server).await;
    let watched: Api<Pod> = Api::default_namespaced(client);
    let mut lines = watched.log_lines(&LogLinesParams::default().container("main").follow());
    assert_eq!(next(&mut lines).await, "[pod/a/main] one");
    for (code, reason) in [(401, "Unauthorized"), (403, "Forbidden")] {
        let refused = || FaultResponse::status(code, reason);
        let watch = server.fault(Match::watch::<Pod>().nth(1), refused());
        let read = server
            .fault(Match::path("/api/v1/namespaces/default/pods/a").subresource("log").nth(1), refused());
        cutter.cut();
        log(&server, "a", "main", reason);
        assert_eq!(next(&mut lines).await, format!("[pod/a/main] {reason}"));
        while watch.hits() == 0 || read.hits() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // The pods are watched again.
        let name = format!("new-{code}");
        log(&server, &name, "main", "first");
        create(&pods, &name).await;
        assert_eq!(next(&mut lines).await, format!("[pod/{name}/main] first"));
    }
    server.shutdown().await;
}

/// When the log of a silent pod ends after 35 s, as a balancer ends it. The watch is answered at once.
#[derive(Clone, Copy, Debug)]
enum Quiet {
    /// After the head of the response.
    Body,
    /// Before it: nodes send it with the first line.
    Head,
}

type Response = http::Response<UnsyncBoxBody<Bytes, std::io::Error>>;

/// The pod `a`, which prints nothing.
fn quiet_pod() -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7"},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"containerStatuses": [{"name": "main", "restartCount": 0, "state": {"running": {}}}]}})
}

fn complete(json: &serde_json::Value) -> Response {
    http::Response::new(Full::from(json.to_string()).map_err(|never| match never {}).boxed_unsync())
}

fn quiet_list() -> Response {
    let meta = json!({"resourceVersion": "7"});
    complete(&json!({"apiVersion": "v1", "kind": "PodList", "metadata": meta, "items": [quiet_pod()]}))
}

/// A server with the pod `a`.
async fn quiet_server(request: http::Request<Body>, quiet: Quiet) -> std::io::Result<Response> {
    let cut = async || {
        tokio::time::sleep(Duration::from_secs(35)).await;
        std::io::Error::from(std::io::ErrorKind::ConnectionReset)
    };
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    if path.ends_with("/log") && matches!(quiet, Quiet::Head) {
        return Err(cut().await);
    }
    if path.ends_with("/log") || query.contains("watch") {
        let end = futures::stream::once(async move { Err::<Frame<Bytes>, _>(cut().await) });
        return Ok(http::Response::new(StreamBody::new(end).boxed_unsync()));
    }
    Ok(if path.ends_with("/a") { complete(&quiet_pod()) } else { quiet_list() })
}

struct OnDrop(Arc<Notify>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test(start_paused = true)]
async fn the_unanswered_log_of_a_deleted_pod_is_given_up() {
    let given_up = Arc::new(Notify::new());
    let ended = given_up.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let ended = ended.clone();
        async move {
            if request.uri().path().ends_with("/log") {
                let _ends = OnDrop(ended);
                std::future::pending::<()>().await;
            }
            if !request.uri().query().unwrap_or_default().contains("watch") {
                return std::io::Result::Ok(quiet_list());
            }
            let event = json!({"type": "DELETED", "object": quiet_pod()}).to_string() + "\n";
            let first = futures::stream::once(async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(Frame::data(Bytes::from(event)))
            });
            Ok(http::Response::new(StreamBody::new(first.chain(futures::stream::pending())).boxed_unsync()))
        }
    });
    let pods: Api<Pod> = Api::default_namespaced(Client::new(service, "default"));
    let _lines = pods.log_lines(&LogLinesParams::default().follow());
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, given_up.notified()).await.expect("the request ends");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_log_whose_connection_is_cut_again_and_again_is_no_error() {
    for quiet in [Quiet::Body, Quiet::Head] {
        let service = tower::service_fn(move |request| quiet_server(request, quiet));
        let pods: Api<Pod> = Api::default_namespaced(Client::new(service, "default"));
        let mut lines = pods.log_lines(&LogLinesParams::default().follow());
        let item = tokio::time::timeout(Duration::from_secs(1200), lines.next()).await;
        assert!(item.is_err(), "{quiet:?}: {item:?}");
    }
}

#[tokio::test]
async fn a_container_that_no_pod_has_is_an_error_that_names_those_there_are() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    log(&server, "a", "main", "one");
    for params in [LogLinesParams::default(), LogLinesParams::default().follow()] {
        let follow = params.follow;
        let mut lines = pods.log_lines(&params.container("typo"));
        let first = tokio::time::timeout(Duration::from_secs(20), lines.next()).await.unwrap();
        let err = first.unwrap().unwrap_err().to_string();
        assert_eq!(err, "container typo is not valid for any pod out of: main, side, setup");
        if !follow {
            assert!(tokio::time::timeout(Duration::from_secs(20), lines.next()).await.unwrap().is_none());
        }
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_pod_that_names_its_default_container_is_read_there() {
    let (server, pods) = server().await;
    create(&pods, "a").await;
    let annotated = json!({"metadata": {"annotations": {"kubectl.kubernetes.io/default-container": "side"}}});
    pods.patch("a", &PatchParams::default(), &Patch::Merge(annotated)).await.unwrap();
    create(&pods, "b").await;
    for pod in ["a", "b"] {
        log(&server, pod, "main", "1");
        log(&server, pod, "side", "2");
    }
    let lines = all(&pods, LogLinesParams::default()).await;
    assert_eq!(lines, ["[pod/a/side] 2", "[pod/b/main] 1", "[pod/b/side] 2"]);
    server.shutdown().await;
}
