//! A layer between client and server that behaves like several servers, or like an unusual one.

use super::{faults::Faults, rng::Rng};
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

type ServersResponse = Response<UnsyncBoxBody<Bytes, Error>>;

/// How the servers differ from a single genuine one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerBehavior {
    None,
    /// Several servers, whose caches lag behind the storage.
    Lag,
    /// A server that counts the changes of each object separately.
    OpaqueVersions,
}

/// Servers with a behavior. All of them return objects with the key `undecodable` in a form that cannot be decoded.
pub(super) struct Servers {
    server: ApiServer,
    faulty: Client,
    behavior: ServerBehavior,
    rng: Mutex<Rng>,
    faults_over: AtomicBool,
    versions: Mutex<PerObjectVersions>,
}

impl Servers {
    pub(super) fn new(
        server: &ApiServer,
        faults: &Arc<Faults>,
        behavior: ServerBehavior,
        rng: Rng,
    ) -> Arc<Self> {
        Arc::new(Self {
            server: server.clone(),
            faulty: faults.client(server),
            behavior,
            rng: Mutex::new(rng),
            faults_over: AtomicBool::new(false),
            versions: Mutex::default(),
        })
    }

    /// No cache lags behind from now on.
    pub(super) fn end(&self) {
        self.faults_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn client(self: &Arc<Self>) -> Client {
        let servers = Arc::clone(self);
        Client::new(service_fn(move |request| respond(Arc::clone(&servers), request)), "default")
    }

    /// The version of the responding server's cache, if the request may be served from a cache.
    fn lagging(&self, query: &BTreeMap<String, String>) -> Option<u64> {
        let is_watch = query.contains_key("watch");
        let from_cache = query.contains_key("resourceVersionMatch") || !is_watch;
        let least: u64 = query.get("resourceVersion").filter(|_| from_cache)?.parse().ok()?;
        if self.behavior != ServerBehavior::Lag || self.faults_over.load(Ordering::Relaxed) {
            return None;
        }
        let lag = self.rng.lock().unwrap().below(12);
        Some(self.server.resource_version().saturating_sub(lag).max(least).max(1))
    }

    /// The query with real versions.
    fn query(&self, request: &Request<Body>) -> BTreeMap<String, String> {
        let query = request.uri().query().unwrap_or_default();
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut query: BTreeMap<String, String> =
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        if let Some(version) =
            query.get_mut("resourceVersion").filter(|_| self.behavior == ServerBehavior::OpaqueVersions)
        {
            *version = self.versions.lock().unwrap().real(version);
        }
        query
    }

    fn transform(&self, object: &mut Value) {
        if !object["data"]["undecodable"].is_null() {
            object["data"] = json!(5);
        }
        if self.behavior == ServerBehavior::OpaqueVersions {
            self.versions.lock().unwrap().transform_object(&mut object["metadata"]);
        }
    }

    fn transform_line(&self, line: &[u8]) -> Bytes {
        let Ok(mut event) = serde_json::from_slice::<Value>(line) else { return line.to_vec().into() };
        if event["type"] == "BOOKMARK" && self.behavior == ServerBehavior::OpaqueVersions {
            transform_collection(&mut event["object"]["metadata"]);
        } else if event["type"] != "ERROR" {
            self.transform(&mut event["object"]);
            let object = metadata_first(&mut event["object"]);
            return format!("{{\"type\":{},\"object\":{object}}}\n", event["type"]).into();
        }
        format!("{event}\n").into()
    }

    fn transform_list(&self, body: &[u8]) -> Bytes {
        let Ok(mut list) = serde_json::from_slice::<Value>(body) else { return body.to_vec().into() };
        let mut items = Vec::new();
        for item in list["items"].as_array_mut().into_iter().flatten() {
            self.transform(item);
            items.push(metadata_first(item));
        }
        if self.behavior == ServerBehavior::OpaqueVersions {
            transform_collection(&mut list["metadata"]);
        }
        if list["items"].is_null() {
            return list.to_string().into(); // a status
        }
        let Value::Object(mut fields) = list else { unreachable!("it has fields") };
        fields.remove("items");
        let head = Value::Object(fields).to_string();
        format!("{},\"items\":[{}]}}", &head[..head.len() - 1], items.join(",")).into()
    }
}

/// The object with its metadata first, as genuine servers send it.
fn metadata_first(object: &mut Value) -> String {
    let Some(fields) = object.as_object_mut() else { return object.to_string() };
    let metadata = fields.remove("metadata").unwrap_or_default();
    let rest = object.to_string();
    let separator = if rest == "{}" { "" } else { "," };
    format!("{{\"metadata\":{metadata}{separator}{}", &rest[1..])
}

async fn respond(servers: Arc<Servers>, request: Request<Body>) -> Result<ServersResponse, Error> {
    let query = servers.query(&request);
    let is_watch = query.contains_key("watch");
    let lagging = servers.lagging(&query);
    if lagging.is_some_and(|version| version > servers.server.resource_version()) {
        return Ok(resource_version_too_large());
    }
    let kind = if is_watch { Match::watch::<ConfigMap>() } else { Match::list::<ConfigMap>() };
    let rule = lagging
        .map(|version| servers.server.fault(kind.namespace("default").times(1), Fault::Stale(version)));
    let response = servers.faulty.send(with_query(request, &query)).await;
    if let Some(rule) = rule {
        rule.remove();
    }
    let (parts, body) = response?.into_parts();
    let body = if is_watch {
        let lines = stream::unfold((body, BytesMut::new()), move |(mut body, mut read)| {
            let servers = Arc::clone(&servers);
            async move {
                loop {
                    if let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                        let line = servers.transform_line(&read.split_to(end + 1));
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
        whole(servers.transform_list(&body))
    };
    Ok(Response::from_parts(parts, body))
}

fn with_query(request: Request<Body>, query: &BTreeMap<String, String>) -> Request<Body> {
    let (mut parts, body) = request.into_parts();
    let query: Vec<String> = query.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.uri = format!("{}?{}", parts.uri.path(), query.join("&")).parse::<Uri>().unwrap();
    Request::from_parts(parts, body)
}

/// The response of a server whose cache does not reach a version in time.
fn resource_version_too_large() -> ServersResponse {
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

/// The versions of an API that counts the changes of each object separately.
///
/// Those of collections end in 000, those of objects in 007, so that each can be mapped back when a client resumes from it.
#[derive(Default)]
struct PerObjectVersions {
    /// The real versions of each object, in the order of its changes.
    changes: BTreeMap<String, Vec<u64>>,
    /// The real version by the transformed one.
    real: BTreeMap<String, u64>,
}

impl PerObjectVersions {
    fn transform_object(&mut self, metadata: &mut Value) {
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        let real: u64 = metadata["resourceVersion"].as_str().and_then(|it| it.parse().ok()).unwrap();
        let index: usize = name.bytes().last().map_or(0, |digit| usize::from(digit - b'0'));
        let changes = self.changes.entry(name).or_default();
        let count = changes.iter().position(|past| *past == real).unwrap_or_else(|| {
            changes.push(real);
            changes.len() - 1
        });
        let transformed = format!("{}{index}007", count + 1);
        self.real.insert(transformed.clone(), real);
        metadata["resourceVersion"] = json!(transformed);
    }

    fn real(&self, transformed: &str) -> String {
        match (self.real.get(transformed), transformed.strip_suffix("000")) {
            (Some(real), _) => real.to_string(),
            (None, Some(real)) => real.to_owned(),
            (None, None) => transformed.to_owned(),
        }
    }
}

fn transform_collection(metadata: &mut Value) {
    if let Some(version) = metadata["resourceVersion"].as_str() {
        metadata["resourceVersion"] = json!(format!("{version}000"));
    }
}
