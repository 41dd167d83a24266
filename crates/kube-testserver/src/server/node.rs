//! What the node of a pod answers instead of the server: logs, and connections into containers.

use futures::StreamExt;
use http::{Response, request::Parts};
use tokio::sync::watch;

use super::{ApiServer, respond};
use crate::{
    body::Body,
    failure::Failure,
    kubelet::Tail,
    stream,
    verb::{self, Call},
    world::World,
};

/// `None` when the call is about something else.
pub(super) fn answer(
    server: &ApiServer,
    world: &World,
    call: &Call,
    parts: &Parts,
) -> Option<Result<Response<Body>, Failure>> {
    let subresource = call.subresource.as_deref().filter(|_| call.endpoint.is_core("pods"))?;
    if subresource == "log" {
        return Some(verb::log(world, call).map(|(container, query, placed)| {
            let tail = world.kubelet.tail(&container, query);
            // Without a node there is nobody who could have anything to say.
            if !placed && tail.begins_empty() {
                return respond::nothing();
            }
            respond::log(log(tail, server.cut_signal()))
        }));
    }
    stream::is_stream(subresource).then(|| {
        let (namespace, pod) = verb::connect(world, call)?;
        let place = (subresource, namespace, &pod);
        stream::answer(server.sessions(), &world.kubelet, place, &call.query, parts).map(respond::switch)
    })
}

/// A log, until its end or until `cut` changes.
fn log(tail: Tail, cut: watch::Receiver<u64>) -> Body {
    let pieces = futures::stream::unfold((tail, cut), async |(mut tail, mut cut)| {
        let piece = tokio::select! {
            piece = tail.next() => piece?,
            _ = cut.changed() => return None,
        };
        Some((Ok(piece), (tail, cut)))
    });
    Body::lines(pieces.fuse().boxed())
}
