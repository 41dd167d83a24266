//! Servers by script: what they answer to each list and each watch.

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

pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, io::Error>>;

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// By the test's clock, in seconds.
    pub(crate) at: u64,
    pub(crate) query: String,
}

impl Asked {
    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains("watch=")
    }

    /// Whether it asks for the version of the storage alone.
    pub(crate) fn is_probe(&self) -> bool {
        !self.is_watch() && self.query.contains("limit=1&") || self.query.ends_with("limit=1")
    }
}

/// The requests that came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Asked>>>);

impl Log {
    pub(crate) fn all(&self) -> Vec<Asked> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn watches(&self) -> Vec<Asked> {
        self.all().into_iter().filter(Asked::is_watch).collect()
    }

    /// Lists of everything.
    pub(crate) fn lists(&self) -> Vec<Asked> {
        self.all().into_iter().filter(|asked| !asked.is_watch() && !asked.is_probe()).collect()
    }
}

/// A client of a server that answers lists by `list` and watches by `watch`. Each is told how many of its kind there were
/// before, and the query.
pub(crate) fn scripted_by(
    list: impl Fn(usize, &str) -> Answer + Send + Sync + 'static,
    watch: impl Fn(usize, &str) -> Answer + Send + Sync + 'static,
) -> (Client, Log) {
    let (log, start) = (Log::default(), Instant::now());
    let requests = log.clone();
    let script = Arc::new((list, watch));
    let service = service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let asked = Asked { at: start.elapsed().as_secs(), query };
        let before = |of: fn(&Asked) -> bool| requests.all().iter().filter(|past| of(past)).count();
        let answer = if asked.is_watch() {
            script.1(before(Asked::is_watch), &asked.query)
        } else {
            script.0(before(|past| !past.is_watch()), &asked.query)
        };
        requests.0.lock().unwrap().push(asked);
        async move { Ok::<_, Infallible>(answer) }
    });
    (Client::new(service, "default"), log)
}

/// The same, where lists show the object `a` at version 10.
pub(crate) fn scripted(watch: impl Fn(usize, &str) -> Answer + Send + Sync + 'static) -> (Client, Log) {
    scripted_by(|_, _| list("10", &[object("a", "7")]), watch)
}

pub(crate) fn list(version: &str, items: &[Value]) -> Answer {
    whole(StatusCode::OK, &json!({ "metadata": { "resourceVersion": version }, "items": items }))
}

pub(crate) fn object(name: &str, version: &str) -> Value {
    let metadata = json!({ "name": name, "resourceVersion": version, "uid": name });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })
}

/// An object that is no `ConfigMap`.
pub(crate) fn undecodable(name: &str, version: &str) -> Value {
    let mut object = object(name, version);
    object["data"] = json!(5);
    object
}

pub(crate) fn event(kind: &str, object: Value) -> Value {
    json!({ "type": kind, "object": object })
}

/// A bookmark, which may be the end of a streaming list.
pub(crate) fn bookmark(version: &str, end: bool) -> Value {
    let mut object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "resourceVersion": version } });
    if end {
        object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    event("BOOKMARK", object)
}

pub(crate) fn failure(code: StatusCode, reason: &str) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(), "reason": reason,
        "message": "as the script says",
    });
    whole(code, &status)
}

pub(crate) fn whole(status: StatusCode, body: &Value) -> Answer {
    let body = stream::iter([Ok(Frame::data(Bytes::from(body.to_string())))]);
    Response::builder().status(status).body(StreamBody::new(body).boxed_unsync()).unwrap()
}

/// These lines, and what comes then.
pub(crate) fn lines(lines: &[Value], then: BoxStream<'static, io::Result<Bytes>>) -> Answer {
    let lines: Vec<_> = lines.iter().map(|line| Ok(Bytes::from(format!("{line}\n")))).collect();
    let body = stream::iter(lines).chain(then).map(|line| line.map(Frame::data));
    Response::new(StreamBody::new(body).boxed_unsync())
}

pub(crate) fn closed() -> BoxStream<'static, io::Result<Bytes>> {
    stream::empty().boxed()
}

pub(crate) fn silence() -> BoxStream<'static, io::Result<Bytes>> {
    stream::pending().boxed()
}

/// An error of the connection after so many seconds.
pub(crate) fn broken_after(seconds: u64, kind: io::ErrorKind) -> BoxStream<'static, io::Result<Bytes>> {
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

/// The items that come within so many seconds, in words.
pub(crate) async fn during(
    seconds: u64,
    stream: impl Stream<Item = Result<Event<ConfigMap>, Error>>,
) -> Vec<String> {
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

pub(crate) fn root(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root)
}
