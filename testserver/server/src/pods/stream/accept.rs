//! Accepts an upgrade request and serves the connection.

use http::{HeaderMap, StatusCode, request::Parts};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde_json::Value;

use super::{
    StreamConnections, command, forward,
    handshake::{Agreed, COMMAND, FORWARD, Transport},
    request::StreamRequest,
    spdy,
};
use crate::{pods::Kubelet, route::Query, status_error::StatusError};

/// Accepts an upgrade request and serves the connection once the response has been sent. Returns status code and headers of the response.
pub(crate) fn accept(
    connections: &StreamConnections,
    kubelet: &Kubelet,
    (subresource, namespace, pod): (&str, &str, &Value),
    query: &Query,
    parts: &Parts,
) -> Result<(StatusCode, HeaderMap), StatusError> {
    let request = StreamRequest::of(subresource, namespace, pod, query)?;
    let protocols = match request {
        StreamRequest::Command(_) => COMMAND,
        StreamRequest::Forward(_) => FORWARD,
    };
    let agreed = protocols.agree(&parts.headers)?;
    let upgrade = parts.extensions.get::<OnUpgrade>().cloned().ok_or_else(|| {
        StatusError::bad_request("this connection cannot be upgraded: it is HTTP/2 or not a socket")
    })?;
    let headers = agreed.headers.iter().cloned().collect();
    let kubelet = kubelet.clone();
    connections.spawn(async move {
        match upgrade.await {
            Ok(upgraded) => serve(TokioIo::new(upgraded), agreed, request, kubelet).await,
            Err(error) => tracing::debug!(%error, "the connection ended before it was upgraded"),
        }
    });
    Ok((StatusCode::SWITCHING_PROTOCOLS, headers))
}

async fn serve(io: TokioIo<Upgraded>, agreed: Agreed, request: StreamRequest, kubelet: Kubelet) {
    match (agreed.transport, request) {
        (Transport::WebSocket, StreamRequest::Command(request)) => {
            command::serve(io, agreed.protocol, request, &kubelet).await
        }
        (Transport::WebSocket, StreamRequest::Forward(request)) => {
            forward::serve(io, request, &kubelet).await
        }
        (Transport::Spdy(carrier), request) => spdy::serve_on(carrier, io, request, &kubelet).await,
    }
}
