//! The bytes of a watch in pieces: wherever they are cut, the same events come, and nothing panics.
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

// The first bytes say how long the pieces are, the others are what the server sends.
fuzz_target!(|input: (Vec<u8>, Vec<u8>, bool)| {
    let (cuts, bytes, pruned) = input;
    let whole = events(vec![bytes.clone()], pruned);
    let mut pieces = Vec::new();
    let mut rest = &bytes[..];
    for cut in cuts.iter().cycle().take(4096) {
        let (piece, behind) = rest.split_at(rest.len().min(usize::from(*cut)));
        pieces.push(piece.to_vec());
        rest = behind;
    }
    pieces.push(rest.to_vec());
    assert_eq!(events(pieces, pruned), whole);
    if !pruned {
        agrees_with_serde_json(&bytes, &whole);
    }
});

/// What comes of a watch that is answered with these pieces, in words.
fn events(pieces: Vec<Vec<u8>>, pruned: bool) -> Vec<String> {
    let server = tower::service_fn(move |_: Request<Body>| {
        let frames: Vec<_> =
            pieces.iter().cloned().map(|piece| Ok::<_, Infallible>(Frame::data(piece.into()))).collect();
        async { Ok::<_, Infallible>(Response::new(StreamBody::new(stream::iter(frames)))) }
    });
    let mut request = Request::get("/").body(Vec::new()).expect("a valid request");
    if pruned {
        request.extensions_mut().insert(Prune::managed_fields());
    }
    block_on(async {
        let events = Client::new(server, "default").request_events_guarded::<DynamicObject>(request).await;
        let events = Box::pin(events.expect("the answer is 200"));
        events.map(|event| event.map_or_else(|err| err.to_string(), |event| in_words(&event))).collect().await
    })
}

fn in_words(event: &WatchEvent<DeserializeGuard<DynamicObject>>) -> String {
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

/// A good line gives the event that serde_json makes of it.
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
        let Ok(theirs) = serde_json::from_slice::<WatchEvent<DynamicObject>>(line) else { continue };
        if let WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) =
            &theirs
        {
            assert_eq!(*event, format!("{theirs:?} {}", serde_json::to_string(object).unwrap_or_default()));
        }
    }
}
