//! Watch responses split into chunks: the split changes no event, and nothing panics.
#![no_main]

use std::convert::Infallible;

use futures::executor::block_on;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube_client::Client;
use kube_client::client::{Body, Prune};
use kube_core::{DeserializeGuard, DynamicObject, WatchEvent};
use libfuzzer_sys::fuzz_target;

// Chunk sizes, the bytes of the response, and whether managedFields are pruned.
fuzz_target!(|input: (Vec<u8>, Vec<u8>, bool)| {
    let (sizes, bytes, pruned) = input;
    let expected = events(vec![bytes.clone()], pruned);
    let mut chunks = Vec::new();
    let mut rest = &bytes[..];
    for size in sizes.iter().cycle().take(4096) {
        let (chunk, remainder) = rest.split_at(rest.len().min(usize::from(*size)));
        chunks.push(chunk.to_vec());
        rest = remainder;
    }
    chunks.push(rest.to_vec());
    assert_eq!(events(chunks, pruned), expected);
    if !pruned {
        agrees_with_serde_json(&bytes, &expected);
    }
});

/// The events of a watch whose response consists of these chunks, as text.
fn events(chunks: Vec<Vec<u8>>, pruned: bool) -> Vec<String> {
    let server = tower::service_fn(move |_: Request<Body>| {
        let frames: Vec<_> =
            chunks.iter().cloned().map(|chunk| Ok::<_, Infallible>(Frame::data(chunk.into()))).collect();
        async { Ok::<_, Infallible>(Response::new(StreamBody::new(stream::iter(frames)))) }
    });
    let mut request = Request::get("/").body(Vec::new()).expect("a valid request");
    if pruned {
        request.extensions_mut().insert(Prune::default().managed_fields());
    }
    block_on(async {
        let events = Client::new(server, "default").request_events_guarded::<DynamicObject>(request).await;
        let events = Box::pin(events.expect("the status is 200"));
        events.map(|event| event.map_or_else(|err| err.to_string(), |event| to_text(&event))).collect().await
    })
}

fn to_text(event: &WatchEvent<DeserializeGuard<DynamicObject>>) -> String {
    match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
            let object = match &object.0 {
                Ok(object) => serde_json::to_string(object).unwrap_or_default(),
                Err(invalid) => invalid.to_string(),
            };
            format!("{event:?} {object}")
        }
        other => format!("{other:?}"),
    }
}

/// Checks that each valid line gives the event that serde_json decodes.
fn agrees_with_serde_json(bytes: &[u8], events: &[String]) {
    let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
    let Some((last, lines)) = lines.split_last() else { return };
    let lines: Vec<_> = lines
        .iter()
        .chain(serde_json::from_slice::<WatchEvent<DynamicObject>>(last).is_ok().then_some(last))
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .collect();
    if lines.len() != events.len() {
        return;
    }
    for (line, event) in lines.into_iter().zip(events) {
        let Ok(decoded) = serde_json::from_slice::<WatchEvent<DynamicObject>>(line) else { continue };
        if let WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) =
            &decoded
        {
            assert_eq!(*event, format!("{decoded:?} {}", serde_json::to_string(object).unwrap_or_default()));
        }
    }
}
