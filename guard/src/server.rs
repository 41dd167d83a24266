//! Responses that were prepared, without a connection.

use crate::pods::pod;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::{Client, client::Body};
use serde_json::json;
use std::{convert::Infallible, sync::Arc};

/// How the bodies of lists and watches arrive.
const CHUNK: usize = 16 << 10;

/// The label selector of watches that expire at once.
pub(crate) const EXPIRES: &str = "expires=true";

/// A client of a collection of `count` Pods of 7.7 KB.
pub(crate) fn client(count: usize) -> Client {
    let pods: Vec<String> = (0..count).map(|index| pod(index).to_string()).collect();
    let list = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"9"}},"items":[{}]}}"#,
        pods.join(",")
    );
    let bookmark = json!({ "type": "BOOKMARK", "object": { "kind": "Pod", "apiVersion": "v1", "metadata": {
        "resourceVersion": "9", "annotations": { "k8s.io/initial-events-end": "true" },
    }}});
    let events = pods.iter().map(|pod| format!("{{\"type\":\"ADDED\",\"object\":{pod}}}\n"));
    let watch: String = events.chain([format!("{bookmark}\n")]).collect();
    let expired = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#;
    let one = pod(0).to_string();
    let responses = Arc::new([list, watch, format!("{expired}\n"), one].map(Bytes::from));
    let server = tower::service_fn(move |request: Request<Body>| {
        let [list, watch, expired, one] = &*responses;
        let uri = request.uri();
        let query = uri.query().unwrap_or_default();
        let body = match (uri.path().ends_with("/pods"), query.contains("watch=")) {
            (true, true) if query.contains("expires") => expired,
            (true, true) => watch,
            (true, false) => list,
            (false, _) => one,
        };
        let body = body.clone();
        let chunks = (0..body.len().div_ceil(CHUNK)).map(move |chunk| {
            let start = chunk * CHUNK;
            Ok::<_, Infallible>(Frame::data(body.slice(start..(start + CHUNK).min(body.len()))))
        });
        // A watch stays open.
        let open = stream::iter(uri.query().is_some_and(|query| query.contains("watch=")).then_some(()));
        let open = open.then(|()| std::future::pending());
        let response = Response::new(StreamBody::new(stream::iter(chunks).chain(open)));
        async { Ok::<_, Infallible>(response) }
    });
    Client::new(server, "default")
}
