//! The response to each request.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures::{FutureExt, Stream, StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};

use super::collection::Collection;

type ResponseResult = Result<Response<UnsyncBoxBody<Bytes, Infallible>>, http::Error>;

/// The size of a body frame.
const CHUNK: usize = 64 << 10;

pub(super) fn respond(collection: &Arc<Collection>, request: &Request<Incoming>) -> ResponseResult {
    let query: HashMap<&str, &str> = request
        .uri()
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    match request.uri().path() {
        "/version" => full(r#"{"major":"1","minor":"37"}"#),
        "/bench/connections" => full(collection.connections.load(Ordering::Relaxed).to_string()),
        "/bench/expire" => {
            collection.expire.notify_one();
            full("{}")
        }
        "/api/v1/namespaces/default/pods" | "/api/v1/namespaces/default/configmaps" => {
            match (query.get("watch"), query.get("resourceVersion")) {
                (Some(_), _) if query.get("sendInitialEvents") == Some(&"true") => {
                    streaming_list(Arc::clone(collection))
                }
                (Some(_), Some(&"1")) => replay(collection),
                (Some(_), _) => until_expired(Arc::clone(collection)),
                (None, _) => list(collection, &query),
            }
        }
        "/api/v1/namespaces/default/configmaps/object-0" => full(collection.range(0, 1)),
        _ => Response::builder().status(StatusCode::NOT_FOUND).body(Full::default().boxed_unsync()),
    }
}

fn full(body: impl Into<Bytes>) -> ResponseResult {
    response().body(Full::new(body.into()).boxed_unsync())
}

fn list(collection: &Collection, query: &HashMap<&str, &str>) -> ResponseResult {
    let number = |name| query.get(name).and_then(|value| value.parse::<usize>().ok());
    let from = number("continue").unwrap_or(0).min(collection.len());
    let to = number("limit").map_or(collection.len(), |limit| collection.len().min(from + limit));
    let next = if to < collection.len() { format!(r#","continue":"{to}""#) } else { String::new() };
    let head = format!(
        r#"{{"kind":"{}","apiVersion":"v1","metadata":{{"resourceVersion":"900000"{next}}},"items":["#,
        collection.list_kind
    );
    let pieces = [Bytes::from(head)].into_iter().chain(chunks(collection.range(from, to)));
    let frames = stream::iter(pieces.chain([Bytes::from_static(b"]}")])).map(|piece| Ok(Frame::data(piece)));
    response().body(StreamBody::new(frames).boxed_unsync())
}

/// A watch that sends every object as an event.
fn replay(collection: &Collection) -> ResponseResult {
    let frames = stream::iter(chunks(collection.events.clone())).map(|piece| Ok(Frame::data(piece)));
    response().body(StreamBody::new(frames).boxed_unsync())
}

/// A watch that sends every object, then the bookmark that completes a streaming list, and later expires with 410.
fn streaming_list(collection: Arc<Collection>) -> ResponseResult {
    let kind = collection.list_kind.trim_end_matches("List");
    let end = format!(
        r#"{{"type":"BOOKMARK","object":{{"kind":"{kind}","apiVersion":"v1","metadata":{{"resourceVersion":"900000","#
    ) + r#""annotations":{"k8s.io/initial-events-end":"true"}}}}"#
        + "\n";
    let pieces = chunks(collection.events.clone()).chain([Bytes::from(end)]);
    let frames = stream::iter(pieces.map(|piece| Ok(Frame::data(piece))));
    response().body(StreamBody::new(frames.chain(expiry(collection))).boxed_unsync())
}

/// A watch that sends nothing until it expires with 410.
fn until_expired(collection: Arc<Collection>) -> ResponseResult {
    response().body(StreamBody::new(expiry(collection)).boxed_unsync())
}

fn expiry(
    collection: Arc<Collection>,
) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static {
    const EXPIRED: &str = concat!(
        r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
        r#""message":"too old resource version: 900000 (900001)","reason":"Expired","code":410}}"#,
        "\n"
    );
    let expired = async move {
        collection.expire.notified().await;
        Ok(Frame::data(Bytes::from_static(EXPIRED.as_bytes())))
    };
    expired.into_stream()
}

fn response() -> http::response::Builder {
    Response::builder().header("content-type", "application/json")
}

fn chunks(mut bytes: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || (!bytes.is_empty()).then(|| bytes.split_to(CHUNK.min(bytes.len()))))
}
