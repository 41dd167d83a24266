//! A layer between client and server that shows what several servers, or odd ones, would show.

use super::{dice::Dice, faults::Faults};
use bytes::{Bytes, BytesMut};
use futures::{StreamExt, stream};
use http::{Request, Response, StatusCode, Uri};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Client, Error, client::Body};
use kube_testserver::{ApiServer, Fault, Match};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};
use tower::service_fn;

type Answer = Response<UnsyncBoxBody<Bytes, Error>>;

/// What is special about the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    None,
    /// There are several, whose caches lag behind.
    Lag,
    /// There is one that counts the changes of each object by itself.
    OpaqueVersions,
}

/// Servers with an oddity, all of which show objects with the key `undecodable` in such a way that they cannot be decoded.
pub(super) struct Servers {
    server: ApiServer,
    faulty: Client,
    oddity: Oddity,
    dice: Mutex<Dice>,
    calm: AtomicBool,
    versions: Mutex<Versions>,
}

impl Servers {
    pub(super) fn new(server: &ApiServer, faults: &Arc<Faults>, oddity: Oddity, dice: Dice) -> Arc<Self> {
        Arc::new(Self {
            server: server.clone(),
            faulty: faults.client(server),
            oddity,
            dice: Mutex::new(dice),
            calm: AtomicBool::new(false),
            versions: Mutex::default(),
        })
    }

    /// From now on no cache lags behind.
    pub(super) fn end(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    pub(super) fn client(self: &Arc<Self>) -> Client {
        let servers = Arc::clone(self);
        Client::new(service_fn(move |request| answer(Arc::clone(&servers), request)), "default")
    }

    /// The version that the server with the answer has reached, where one from a cache will do.
    fn lagging(&self, query: &BTreeMap<String, String>) -> Option<u64> {
        let is_watch = query.contains_key("watch");
        let from_cache = query.contains_key("resourceVersionMatch") || !is_watch;
        let least: u64 = query.get("resourceVersion").filter(|_| from_cache)?.parse().ok()?;
        if self.oddity != Oddity::Lag || self.calm.load(Ordering::Relaxed) {
            return None;
        }
        let lag = self.dice.lock().unwrap().below(12);
        Some(self.server.resource_version().saturating_sub(lag).max(least).max(1))
    }

    /// The query as the server behind this understands it.
    fn query(&self, request: &Request<Body>) -> BTreeMap<String, String> {
        let query = request.uri().query().unwrap_or_default();
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut query: BTreeMap<String, String> =
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        if let Some(version) =
            query.get_mut("resourceVersion").filter(|_| self.oddity == Oddity::OpaqueVersions)
        {
            *version = self.versions.lock().unwrap().real(version);
        }
        query
    }

    fn show(&self, object: &mut Value) {
        if !object["data"]["undecodable"].is_null() {
            object["data"] = json!(5);
        }
        if self.oddity == Oddity::OpaqueVersions {
            self.versions.lock().unwrap().show_object(&mut object["metadata"]);
        }
    }

    fn show_line(&self, line: &[u8]) -> Bytes {
        let Ok(mut event) = serde_json::from_slice::<Value>(line) else { return line.to_vec().into() };
        if event["type"] == "BOOKMARK" && self.oddity == Oddity::OpaqueVersions {
            show_collection(&mut event["object"]["metadata"]);
        } else if event["type"] != "ERROR" {
            self.show(&mut event["object"]);
        }
        format!("{event}\n").into()
    }

    fn show_list(&self, body: &[u8]) -> Bytes {
        let Ok(mut list) = serde_json::from_slice::<Value>(body) else { return body.to_vec().into() };
        for item in list["items"].as_array_mut().into_iter().flatten() {
            self.show(item);
        }
        if self.oddity == Oddity::OpaqueVersions {
            show_collection(&mut list["metadata"]);
        }
        list.to_string().into()
    }
}

async fn answer(servers: Arc<Servers>, request: Request<Body>) -> Result<Answer, Error> {
    let query = servers.query(&request);
    let is_watch = query.contains_key("watch");
    let lagging = servers.lagging(&query);
    if lagging.is_some_and(|version| version > servers.server.resource_version()) {
        return Ok(too_large());
    }
    let kind = if is_watch { Match::watch::<ConfigMap>() } else { Match::list::<ConfigMap>() };
    let rule = lagging
        .map(|version| servers.server.fault(kind.namespace("default").times(1), Fault::Stale(version)));
    let answer = servers.faulty.send(with_query(request, &query)).await;
    if let Some(rule) = rule {
        rule.remove();
    }
    let (parts, body) = answer?.into_parts();
    let body = if is_watch {
        let lines = stream::unfold((body, BytesMut::new()), move |(mut body, mut read)| {
            let servers = Arc::clone(&servers);
            async move {
                loop {
                    if let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                        let line = servers.show_line(&read.split_to(end + 1));
                        return Some((Ok(Frame::data(line)), (body, read)));
                    }
                    match body.frame().await {
                        Some(Ok(frame)) => read.extend_from_slice(&frame.into_data().unwrap_or_default()),
                        Some(Err(error)) => return Some((Err(error), (body, read))),
                        None if read.is_empty() => return None,
                        None => return Some((Ok(Frame::data(read.split().freeze())), (body, read))),
                    }
                }
            }
        });
        StreamBody::new(lines.boxed()).boxed_unsync()
    } else {
        let body = body.collect().await?.to_bytes();
        whole(servers.show_list(&body))
    };
    Ok(Response::from_parts(parts, body))
}

fn with_query(request: Request<Body>, query: &BTreeMap<String, String>) -> Request<Body> {
    let (mut parts, body) = request.into_parts();
    let query: Vec<String> = query.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.uri = format!("{}?{}", parts.uri.path(), query.join("&")).parse::<Uri>().unwrap();
    Request::from_parts(parts, body)
}

/// As servers answer that have not reached a version in time.
fn too_large() -> Answer {
    let causes = json!([{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }]);
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "lagging",
        "reason": "Timeout", "code": 504, "details": { "causes": causes, "retryAfterSeconds": 1 },
    });
    let body = whole(status.to_string().into());
    Response::builder().status(StatusCode::GATEWAY_TIMEOUT).body(body).unwrap()
}

fn whole(body: Bytes) -> UnsyncBoxBody<Bytes, Error> {
    StreamBody::new(stream::iter([Ok(Frame::data(body))])).boxed_unsync()
}

/// Versions as an API shows them that counts the changes of each object by itself.
///
/// Those of collections end in 000, those of objects in 007, so that a client which resumes from one of them can be served.
#[derive(Default)]
struct Versions {
    /// The versions of each object that were shown, in their order.
    counted: BTreeMap<String, Vec<u64>>,
    real: BTreeMap<String, u64>,
}

impl Versions {
    fn show_object(&mut self, metadata: &mut Value) {
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        let real: u64 = metadata["resourceVersion"].as_str().and_then(|it| it.parse().ok()).unwrap();
        let index: usize = name.bytes().last().map_or(0, |digit| usize::from(digit - b'0'));
        let counted = self.counted.entry(name).or_default();
        let count = counted.iter().position(|past| *past == real).unwrap_or_else(|| {
            counted.push(real);
            counted.len() - 1
        });
        let shown = format!("{}{index}007", count + 1);
        self.real.insert(shown.clone(), real);
        metadata["resourceVersion"] = json!(shown);
    }

    fn real(&self, shown: &str) -> String {
        match (self.real.get(shown), shown.strip_suffix("000")) {
            (Some(real), _) => real.to_string(),
            (None, Some(real)) => real.to_owned(),
            (None, None) => shown.to_owned(),
        }
    }
}

fn show_collection(metadata: &mut Value) {
    if let Some(version) = metadata["resourceVersion"].as_str() {
        metadata["resourceVersion"] = json!(format!("{version}000"));
    }
}
