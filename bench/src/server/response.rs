//! The response to each request.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use tokio::time::{MissedTickBehavior, interval};

use super::collection::{CHUNK, Collection, LIST_VERSION};
use crate::measure::unix_nanos;

type ResponseResult = Result<Response<UnsyncBoxBody<Bytes, Infallible>>, http::Error>;
type Query<'a> = HashMap<&'a str, &'a str>;

pub(super) async fn respond(collection: Arc<Collection>, request: Request<Incoming>) -> ResponseResult {
    let query: Query<'_> = request
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
            collection.watches.expire().await;
            full("{}")
        }
        "/bench/listed-at" => full(collection.listed_at.load(Ordering::Relaxed).to_string()),
        "/bench/change" => full(change(&collection, &query).await.to_string()),
        "/api/v1/namespaces/default/pods" | "/api/v1/namespaces/default/configmaps" => {
            match (query.get("watch"), query.get("resourceVersion")) {
                (Some(_), _) if query.get("sendInitialEvents") == Some(&"true") => {
                    streaming_list(&collection)
                }
                (Some(_), Some(&"1")) => replay(&collection),
                (Some(_), _) => response().body(StreamBody::new(collection.watches.open()).boxed_unsync()),
                (None, _) => list(&collection, &query),
            }
        }
        path => match path.rsplit_once('/').and_then(|(_, name)| collection.named(name)) {
            Some(object) => full(object),
            None => Response::builder().status(StatusCode::NOT_FOUND).body(Full::default().boxed_unsync()),
        },
    }
}

fn full(body: impl Into<Bytes>) -> ResponseResult {
    response().body(Full::new(body.into()).boxed_unsync())
}

fn number(query: &Query<'_>, name: &str) -> Option<usize> {
    query.get(name)?.parse().ok()
}

fn list(collection: &Collection, query: &Query<'_>) -> ResponseResult {
    let from = number(query, "continue").unwrap_or(0).min(collection.len());
    if from == 0 {
        collection.listed_at.store(unix_nanos(), Ordering::Relaxed);
    }
    let to = number(query, "limit").map_or(collection.len(), |limit| collection.len().min(from + limit));
    let next = if to < collection.len() { format!(r#","continue":"{to}""#) } else { String::new() };
    let head = format!(
        r#"{{"kind":"{}List","apiVersion":"{}","metadata":{{"resourceVersion":"{LIST_VERSION}"{next}}},"items":["#,
        collection.kind, collection.api_version
    );
    let pieces = [Bytes::from(head)].into_iter().chain(chunks(collection.range(from, to)));
    let frames = stream::iter(pieces.chain([Bytes::from_static(b"]}")])).map(|piece| Ok(Frame::data(piece)));
    response().body(StreamBody::new(frames).boxed_unsync())
}

/// A watch that sends every object as an event.
fn replay(collection: &Arc<Collection>) -> ResponseResult {
    let frames = stream::iter(collection.events()).map(|piece| Ok(Frame::data(piece)));
    response().body(StreamBody::new(frames).boxed_unsync())
}

/// A watch that sends every object, then the bookmark that completes a streaming list, and then what is sent to all watches.
fn streaming_list(collection: &Arc<Collection>) -> ResponseResult {
    collection.listed_at.store(unix_nanos(), Ordering::Relaxed);
    let later = collection.watches.open();
    let end = format!(
        r#"{{"type":"BOOKMARK","object":{{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{LIST_VERSION}","#,
        collection.kind, collection.api_version
    ) + r#""annotations":{"k8s.io/initial-events-end":"true"}}}}"#
        + "\n";
    let pieces = collection.events().chain([Bytes::from(end)]);
    let frames = stream::iter(pieces.map(|piece| Ok(Frame::data(piece))));
    response().body(StreamBody::new(frames.chain(later)).boxed_unsync())
}

/// Sends `count` changes, `rate` a second. Returns the time of the last one in nanoseconds since the epoch.
async fn change(collection: &Collection, query: &Query<'_>) -> u64 {
    let count = number(query, "count").unwrap_or(1);
    let rate = number(query, "rate").unwrap_or(1).max(1);
    let mut ticks = interval(Duration::from_secs_f64(1.0 / rate as f64));
    // A late change is followed by the others sooner, so that the rate is kept.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut last = 0;
    for number in 0..count {
        ticks.tick().await;
        // The wait for the watch is no part of the change's latency.
        collection.watches.wait_until_open().await;
        last = unix_nanos();
        collection.watches.send(collection.change(number, last)).await;
    }
    last
}

fn response() -> http::response::Builder {
    Response::builder().header("content-type", "application/json")
}

fn chunks(mut bytes: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || (!bytes.is_empty()).then(|| bytes.split_to(CHUNK.min(bytes.len()))))
}
