//! Responds to the requests that a pod's node serves: logs, and connections into containers.

use futures::StreamExt;
use http::{Response, request::Parts};
use tokio::sync::watch;

use super::{
    Kubelet, LogTail, connect, log,
    stream::{self, StreamConnections},
};
use crate::{
    admission::AdmissionContext,
    call::Call,
    response::{Body, respond},
    status_error::StatusError,
    webhook::Interruption,
};

/// The subresource of a call that the pod's node serves.
pub(crate) fn node_subresource(call: &Call) -> Option<&str> {
    let subresource = call.subresource.as_deref().filter(|_| call.endpoint.is_core("pods"))?;
    (subresource == "log" || stream::is_stream(subresource)).then_some(subresource)
}

/// Serves the subresources of pods that [`node_subresource`] names.
pub(crate) struct PodServer<'a> {
    pub(crate) context: AdmissionContext<'a>,
    pub(crate) kubelet: &'a Kubelet,
    pub(crate) connections: &'a StreamConnections,
    /// Changes when open logs have to end.
    pub(crate) cut: watch::Receiver<u64>,
}

impl PodServer<'_> {
    /// The response to a call for this subresource.
    pub(crate) fn respond(
        self,
        subresource: &str,
        call: &Call,
        parts: &Parts,
    ) -> Result<Response<Body>, Interruption> {
        if subresource == "log" {
            return Ok(self.read_log(call)?);
        }
        let (namespace, pod) = connect(self.context, call)?;
        let target = (subresource, namespace, &pod);
        let upgrade = stream::accept(self.connections, self.kubelet, target, &call.query, parts)?;
        Ok(respond::switch(upgrade))
    }

    fn read_log(self, call: &Call) -> Result<Response<Body>, StatusError> {
        let (container, query, placed) = log(self.context.storage, call)?;
        let tail = self.kubelet.tail(&container, query);
        // A pod without a node has no log.
        if !placed && tail.begins_empty() {
            return Ok(respond::nothing());
        }
        Ok(respond::log(lines(tail, self.cut)))
    }
}

/// A log, until its end or until `cut` changes.
fn lines(tail: LogTail, cut: watch::Receiver<u64>) -> Body {
    let chunks = futures::stream::unfold((tail, cut), async |(mut tail, mut cut)| {
        let piece = tokio::select! {
            piece = tail.next() => piece?,
            _ = cut.changed() => return None,
        };
        Some((Ok(piece), (tail, cut)))
    });
    Body::lines(chunks.fuse().boxed())
}
