//! Lists and watches of metadata in protobuf, split into chunks: the split changes no object, and nothing panics.
#![no_main]

use std::convert::Infallible;

use futures::executor::block_on;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube_client::Client;
use kube_client::client::{Body, Prune};
use kube_core::{DynamicObject, PartialObjectMeta};
use libfuzzer_sys::fuzz_target;

type Meta = PartialObjectMeta<DynamicObject>;

// Chunk sizes, the bytes of the response, and whether managedFields are pruned.
fuzz_target!(|input: (Vec<u8>, Vec<u8>, bool)| {
    let (sizes, bytes, pruned) = input;
    let mut chunks = Vec::new();
    let mut rest = &bytes[..];
    for size in sizes.iter().cycle().take(4096) {
        let (chunk, remainder) = rest.split_at(rest.len().min(usize::from(*size)));
        chunks.push(chunk.to_vec());
        rest = remainder;
    }
    chunks.push(rest.to_vec());
    assert_eq!(list(chunks.clone(), pruned), list(vec![bytes.clone()], pruned));
    assert_eq!(events(chunks, pruned), events(vec![bytes], pruned));
});

/// A client of a server whose responses consist of these chunks.
fn client(chunks: Vec<Vec<u8>>) -> Client {
    let server = tower::service_fn(move |_: Request<Body>| {
        let frames: Vec<_> =
            chunks.iter().cloned().map(|chunk| Ok::<_, Infallible>(Frame::data(chunk.into()))).collect();
        let response = Response::builder().header("content-type", "application/vnd.kubernetes.protobuf");
        let response = response.body(StreamBody::new(stream::iter(frames))).expect("a valid response");
        async { Ok::<_, Infallible>(response) }
    });
    Client::new(server, "default")
}

fn request(pruned: bool) -> Request<Vec<u8>> {
    let mut request = Request::get("/").body(Vec::new()).expect("a valid request");
    if pruned {
        request.extensions_mut().insert(Prune::default().managed_fields());
    }
    request
}

/// The objects of a list, or its error, as text.
fn list(chunks: Vec<Vec<u8>>, pruned: bool) -> String {
    let list = block_on(client(chunks).request_list_guarded::<Meta>(request(pruned)));
    list.map_or_else(|err| err.to_string(), |list| format!("{:?}", list.items))
}

/// The events of a watch, as text.
fn events(chunks: Vec<Vec<u8>>, pruned: bool) -> Vec<String> {
    block_on(async {
        let events = client(chunks).request_events_guarded::<Meta>(request(pruned)).await;
        let events = Box::pin(events.expect("the status is 200"));
        events
            .map(|event| event.map_or_else(|err| err.to_string(), |event| format!("{event:?}")))
            .collect()
            .await
    })
}
