//! Watching servers that misbehave, by scripts and under paused time.

use crate::common::soon;
use bytes::Bytes;
use futures::{Stream, StreamExt, stream, stream::BoxStream};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, client::Body};
use kube_runtime::{
    WatchStreamExt,
    watcher::{Config, Error, Event, watcher},
};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, timeout};
use tower::service_fn;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The requests that came, with the second of the test's clock.
type Log = Arc<Mutex<Vec<(u64, String)>>>;

/// A client of a server that answers lists with one object at version 10, and watches by `watch`, which is told how
/// many there were before and the query.
fn scripted(watch: impl Fn(usize, &str) -> Answer + Send + Sync + 'static) -> (Client, Log) {
    let log = Log::default();
    let requests = Arc::clone(&log);
    let start = Instant::now();
    let watch = Arc::new(watch);
    let service = service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let is_watch = query.contains("watch=");
        let before = {
            let mut log = requests.lock().unwrap();
            let before = log.iter().filter(|(_, kind)| kind == "watch").count();
            log.push((start.elapsed().as_secs(), if is_watch { "watch" } else { "list" }.to_owned()));
            before
        };
        let watch = Arc::clone(&watch);
        async move {
            Ok::<_, Infallible>(if is_watch {
                watch(before, &query)
            } else {
                let list = json!({ "metadata": { "resourceVersion": "10" }, "items": [object("a", "7")] });
                whole(StatusCode::OK, &list)
            })
        }
    });
    (Client::new(service, "default"), log)
}

fn object(name: &str, version: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "resourceVersion": version } })
}

fn whole(status: StatusCode, body: &Value) -> Answer {
    let body = stream::iter([Ok(http_body::Frame::data(Bytes::from(body.to_string())))]);
    Response::builder().status(status).body(StreamBody::new(body).boxed_unsync()).unwrap()
}

fn lines(lines: &[Value], then: BoxStream<'static, Bytes>) -> Answer {
    let lines: Vec<Bytes> = lines.iter().map(|line| Bytes::from(format!("{line}\n"))).collect();
    let body = stream::iter(lines).chain(then).map(|line| Ok(http_body::Frame::data(line)));
    Response::new(StreamBody::new(body).boxed_unsync())
}

fn closed() -> BoxStream<'static, Bytes> {
    stream::empty().boxed()
}

fn silence() -> BoxStream<'static, Bytes> {
    stream::pending().boxed()
}

fn events(client: Client, config: Config) -> impl Stream<Item = Result<Event<ConfigMap>, Error>> + Send {
    watcher(Api::default_namespaced(client), config)
}

/// The items that come within so many seconds, in words.
async fn during(seconds: u64, stream: impl Stream<Item = Result<Event<ConfigMap>, Error>>) -> Vec<String> {
    let mut told = Vec::new();
    let mut stream = pin!(stream);
    let _elapsed = timeout(Duration::from_secs(seconds), async {
        while let Some(item) = stream.next().await {
            told.push(
                item.map_or_else(|error| format!("{error}: {}", root(&error)), |event| event.to_string()),
            );
        }
    })
    .await;
    told
}

fn root(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_every_watch_at_once_is_not_stormed() {
    let (client, log) = scripted(|_, _| lines(&[], closed()));
    let told = during(600, events(client, Config::default())).await;
    // Before each watch but the first one the server is asked for its version, by a list of one object.
    let requests = log.lock().unwrap().iter().filter(|(_, kind)| kind == "watch").count();
    assert!(
        (60..200).contains(&requests),
        "{requests} requests in ten minutes, without any backoff of the user"
    );
    let closures = told.iter().filter(|item| item.contains("closed the watch at once")).count();
    assert!(closures + 3 >= requests - 1, "each of them is reported: {closures} of {requests}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_given_up_and_resumed() {
    let (client, log) = scripted(|_, _| lines(&[], silence()));
    let told = during(320, events(client, Config::default())).await;
    assert!(told.last().unwrap().contains("silent"), "{told:?}");
    let watches: Vec<u64> =
        log.lock().unwrap().iter().filter(|(_, kind)| kind == "watch").map(|it| it.0).collect();
    assert_eq!(watches, [0, 305]);
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_without_an_end_becomes_a_list() {
    let (client, log) = scripted(|_, query| {
        let streaming = query.contains("sendInitialEvents=true");
        let added = json!({ "type": "ADDED", "object": object("a", "7") });
        if streaming { lines(&[added], silence()) } else { lines(&[], silence()) }
    });
    let told = during(60, events(client, Config::default().streaming_lists())).await;
    assert_eq!(told[..2], ["Init", "InitApply(a)"]);
    assert!(told[2].contains("did not finish the streaming list"), "{told:?}");
    assert_eq!(told[3..], ["Init", "InitApply(a)", "InitDone"]);
    let kinds: Vec<_> = log.lock().unwrap().iter().map(|(_, kind)| kind.clone()).collect();
    assert_eq!(kinds, ["watch", "list", "watch"]);
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_when_it_says_so() {
    let (client, log) = scripted(|before, query| {
        assert!(query.contains("resourceVersion=10"), "{query}");
        let details = json!({ "retryAfterSeconds": 7 });
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests",
            "message": "storage is (re)initializing", "details": details,
        });
        if before < 2 { whole(StatusCode::TOO_MANY_REQUESTS, &status) } else { lines(&[], silence()) }
    });
    let told = during(30, events(client, Config::default())).await;
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(told[4].contains("(re)initializing"), "{told:?}");
    let log = log.lock().unwrap().clone();
    let kinds: Vec<_> = log.iter().map(|(at, kind)| (*at, kind.as_str())).collect();
    assert_eq!(kinds, [(0, "list"), (0, "watch"), (7, "watch"), (14, "watch")], "and no list in between");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_does_not_hold_up_the_rest() {
    let (client, _log) = scripted(|_, _| {
        let mut bad = object("bad", "11");
        bad["data"] = json!(5);
        let events = [bad, object("b", "12")].map(|object| json!({ "type": "ADDED", "object": object }));
        lines(&events, silence())
    });
    let told = during(5, events(client, Config::default())).await;
    assert!(told[3].contains("bad: "), "{told:?}");
    assert_eq!(told[4], "Apply(b)");
}

#[tokio::test(start_paused = true)]
async fn the_waits_of_the_user_and_of_the_watcher_run_at_the_same_time() {
    let (client, log) = scripted(|_, _| lines(&[], closed()));
    let ten =
        backon::ExponentialBuilder::default().with_min_delay(Duration::from_secs(10)).without_max_times();
    let flat = kube_runtime::watcher::ExponentialBackoff::from(ten.with_max_delay(Duration::from_secs(10)));
    let mut events = pin!(events(client, Config::default()).backoff(flat));
    let _ = timeout(Duration::from_secs(35), async {
        loop {
            let _ = soon(&mut events).await;
        }
    })
    .await;
    let watches: Vec<u64> =
        log.lock().unwrap().iter().filter(|(_, kind)| kind == "watch").map(|it| it.0).collect();
    assert_eq!(watches, [0, 10, 20, 30]);
}
