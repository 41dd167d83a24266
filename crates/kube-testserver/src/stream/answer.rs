use http::{HeaderMap, StatusCode, request::Parts};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::duplex;

use super::{
    Sessions,
    ask::Ask,
    command, forward,
    handshake::{Agreed, COMMAND, FORWARD, Wire},
    spdy, tunnel,
};
use crate::{failure::Failure, kubelet::Kubelet, route::Query};

/// Connects a client with a pod: says what the answer is, and serves the connection once it has been sent.
pub(crate) fn answer(
    sessions: &Sessions,
    kubelet: &Kubelet,
    (subresource, namespace, pod): (&str, &str, &Value),
    query: &Query,
    parts: &Parts,
) -> Result<(StatusCode, HeaderMap), Failure> {
    let ask = Ask::of(subresource, namespace, pod, query)?;
    let protocols = match ask {
        Ask::Command(_) => COMMAND,
        Ask::Forward(_) => FORWARD,
    };
    let agreed = protocols.agree(&parts.headers)?;
    let upgrade = parts.extensions.get::<OnUpgrade>().cloned().ok_or_else(|| {
        Failure::bad_request("this connection cannot be upgraded: it is HTTP/2, or there is no socket at all")
    })?;
    let answer = agreed.headers.iter().cloned().collect();
    let kubelet = kubelet.clone();
    sessions.spawn(async move {
        match upgrade.await {
            Ok(upgraded) => serve(TokioIo::new(upgraded), agreed, ask, kubelet).await,
            Err(error) => tracing::debug!(%error, "the connection ended before it was upgraded"),
        }
    });
    Ok((StatusCode::SWITCHING_PROTOCOLS, answer))
}

async fn serve(io: TokioIo<Upgraded>, agreed: Agreed, ask: Ask, kubelet: Kubelet) {
    match (agreed.wire, ask) {
        (Wire::WebSocket, Ask::Command(ask)) => command::serve(io, agreed.protocol, ask, &kubelet).await,
        (Wire::WebSocket, Ask::Forward(ask)) => forward::serve(io, ask, &kubelet).await,
        (Wire::Spdy, ask) => spdy::serve(io, ask, &kubelet).await,
        (Wire::Tunnel, ask) => {
            let (inner, outer) = duplex(64 * 1024);
            tokio::join!(tunnel::run(io, outer), spdy::serve(inner, ask, &kubelet));
        }
    }
}
