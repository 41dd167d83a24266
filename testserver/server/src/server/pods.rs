//! Requests that a pod's node serves: logs, and connections into containers.

use futures::StreamExt;
use http::{Response, request::Parts};
use tokio::sync::watch;

use super::{ApiServer, respond};
use crate::{
    body::Body,
    cluster::ClusterState,
    handlers::{self, Call},
    kubelet::LogTail,
    status_error::StatusError,
    stream,
    webhook::Interruption,
};

/// `None` for any other request.
pub(super) fn respond(
    server: &ApiServer,
    cluster: &ClusterState,
    call: &Call,
    parts: &Parts,
) -> Option<Result<Response<Body>, Interruption>> {
    let subresource = call.subresource.as_deref().filter(|_| call.endpoint.is_core("pods"))?;
    if subresource == "log" {
        return Some(read_log(server, cluster, call).map_err(Interruption::from));
    }
    stream::is_stream(subresource).then(|| {
        let (namespace, pod) = handlers::connect(cluster, call)?;
        let target = (subresource, namespace, &pod);
        Ok(stream::accept(server.connections(), &cluster.kubelet, target, &call.query, parts)
            .map(respond::switch)?)
    })
}

fn read_log(server: &ApiServer, cluster: &ClusterState, call: &Call) -> Result<Response<Body>, StatusError> {
    let (container, query, placed) = handlers::log(cluster, call)?;
    let tail = cluster.kubelet.tail(&container, query);
    // A pod without a node has no log.
    if !placed && tail.begins_empty() {
        return Ok(respond::nothing());
    }
    Ok(respond::log(log(tail, server.end_signal())))
}

/// A log, until its end or until `cut` changes.
fn log(tail: LogTail, cut: watch::Receiver<u64>) -> Body {
    let chunks = futures::stream::unfold((tail, cut), async |(mut tail, mut cut)| {
        let piece = tokio::select! {
            piece = tail.next() => piece?,
            _ = cut.changed() => return None,
        };
        Some((Ok(piece), (tail, cut)))
    });
    Body::lines(chunks.fuse().boxed())
}
