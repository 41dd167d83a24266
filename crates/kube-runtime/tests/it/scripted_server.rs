//! Scripted servers, which respond to each list and each watch by a function.

use bytes::Bytes;
use futures::{Stream, StreamExt, stream, stream::BoxStream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, client::Body};
use kube_runtime::watcher::{Config, Error, Event, watcher};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    io,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, timeout};
use tower::service_fn;

pub(crate) type ScriptedResponse = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    /// Seconds since the start of the server.
    pub(crate) at: u64,
    pub(crate) query: String,
}

impl RecordedRequest {
    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains("watch=")
    }

    /// Whether it is the watcher's version check.
    pub(crate) fn is_version_check(&self) -> bool {
        !self.is_watch() && self.query.contains("limit=1&") || self.query.ends_with("limit=1")
    }
}

/// The received requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestLog(Arc<Mutex<Vec<RecordedRequest>>>);

impl RequestLog {
    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn watches(&self) -> Vec<RecordedRequest> {
        self.all().into_iter().filter(RecordedRequest::is_watch).collect()
    }

    /// The lists, without version checks.
    pub(crate) fn lists(&self) -> Vec<RecordedRequest> {
        self.all().into_iter().filter(|request| !request.is_watch() && !request.is_version_check()).collect()
    }
}

/// A client of a server that responds to lists by `list` and to watches by `watch`. The arguments are the number of earlier
/// requests of that kind, and the query.
pub(crate) fn scripted_server(
    list: impl Fn(usize, &str) -> ScriptedResponse + Send + Sync + 'static,
    watch: impl Fn(usize, &str) -> ScriptedResponse + Send + Sync + 'static,
) -> (Client, RequestLog) {
    let (log, start) = (RequestLog::default(), Instant::now());
    let requests = log.clone();
    let script = Arc::new((list, watch));
    let service = service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let request = RecordedRequest { at: start.elapsed().as_secs(), query };
        let before = |of: fn(&RecordedRequest) -> bool| requests.all().iter().filter(|past| of(past)).count();
        let response = if request.is_watch() {
            script.1(before(RecordedRequest::is_watch), &request.query)
        } else {
            script.0(before(|past| !past.is_watch()), &request.query)
        };
        requests.0.lock().unwrap().push(request);
        async move { Ok::<_, Infallible>(response) }
    });
    (Client::new(service, "default"), log)
}

/// The same with lists of the object `a` at version 10.
pub(crate) fn scripted_watches(
    watch: impl Fn(usize, &str) -> ScriptedResponse + Send + Sync + 'static,
) -> (Client, RequestLog) {
    scripted_server(|_, _| list("10", &[object("a", "7")]), watch)
}

pub(crate) fn list(version: &str, items: &[Value]) -> ScriptedResponse {
    json_response(StatusCode::OK, &json!({ "metadata": { "resourceVersion": version }, "items": items }))
}

pub(crate) fn object(name: &str, version: &str) -> Value {
    let metadata = json!({ "name": name, "resourceVersion": version, "uid": name });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })
}

/// An object that cannot be decoded as a `ConfigMap`.
pub(crate) fn undecodable(name: &str, version: &str) -> Value {
    let mut object = object(name, version);
    object["data"] = json!(5);
    object
}

pub(crate) fn event(kind: &str, object: Value) -> Value {
    json!({ "type": kind, "object": object })
}

/// A bookmark, which may complete a streaming list.
pub(crate) fn bookmark(version: &str, end: bool) -> Value {
    let mut object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "resourceVersion": version } });
    if end {
        object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    event("BOOKMARK", object)
}

pub(crate) fn status_response(code: StatusCode, reason: &str) -> ScriptedResponse {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(), "reason": reason,
        "message": "scripted",
    });
    json_response(code, &status)
}

pub(crate) fn json_response(status: StatusCode, body: &Value) -> ScriptedResponse {
    let body = stream::iter([Ok(Frame::data(Bytes::from(body.to_string())))]);
    Response::builder().status(status).body(StreamBody::new(body).boxed_unsync()).unwrap()
}

/// A watch with these events, followed by `then`.
pub(crate) fn watch_response(
    events: &[Value],
    then: BoxStream<'static, io::Result<Bytes>>,
) -> ScriptedResponse {
    let events: Vec<_> = events.iter().map(|event| Ok(Bytes::from(format!("{event}\n")))).collect();
    let body = stream::iter(events).chain(then).map(|data| data.map(Frame::data));
    Response::new(StreamBody::new(body).boxed_unsync())
}

pub(crate) fn end_of_stream() -> BoxStream<'static, io::Result<Bytes>> {
    stream::empty().boxed()
}

pub(crate) fn idle() -> BoxStream<'static, io::Result<Bytes>> {
    stream::pending().boxed()
}

/// A connection error after this many seconds.
pub(crate) fn error_after(seconds: u64, kind: io::ErrorKind) -> BoxStream<'static, io::Result<Bytes>> {
    stream::once(async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        Err(kind.into())
    })
    .boxed()
}

pub(crate) fn events(
    client: Client,
    config: Config,
) -> impl Stream<Item = Result<Event<ConfigMap>, Error>> + Send {
    watcher(Api::default_namespaced(client), config)
}

/// The items within this many seconds, as strings.
pub(crate) async fn items_within(
    seconds: u64,
    stream: impl Stream<Item = Result<Event<ConfigMap>, Error>>,
) -> Vec<String> {
    let mut items = Vec::new();
    let mut stream = pin!(stream);
    let _elapsed = timeout(Duration::from_secs(seconds), async {
        while let Some(item) = stream.next().await {
            items.push(
                item.map_or_else(|error| format!("{error}: {}", root(&error)), |event| event.to_string()),
            );
        }
    })
    .await;
    items
}

pub(crate) fn root(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root)
}
