//! Agrees with a client on a version of SPDY.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, UPGRADE},
};
use tokio::io::{AsyncRead, AsyncWrite, duplex};

use super::{serve::serve, tunnel};
use crate::{
    pods::{
        Kubelet,
        stream::{
            channel::V4,
            offer::{choose, words},
            request::StreamRequest,
        },
    },
    status_error::StatusError,
};

const SPDY: &str = "SPDY/3.1";
/// Port forwarding over SPDY in a websocket, as `kubectl` does since 1.31.
const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";
/// The websocket protocols of `port-forward`.
pub(in crate::pods::stream) const FORWARD: &[&str] = &[V4, TUNNEL];

const STREAM_PROTOCOL: HeaderName = HeaderName::from_static("x-stream-protocol-version");

/// What carries the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pods::stream) enum Carrier {
    Connection,
    WebSocket,
}

/// The carrier, the protocol, and the headers of the response.
type Agreed = (Carrier, &'static str, Vec<(HeaderName, HeaderValue)>);

/// Agrees on a protocol over SPDY; `None` when the client requests another upgrade.
pub(in crate::pods::stream) fn agree(
    upgrade: &str,
    spoken: &[&'static str],
    headers: &HeaderMap,
) -> Option<Result<Agreed, StatusError>> {
    upgrade.eq_ignore_ascii_case(SPDY).then(|| {
        let protocol = choose(words(headers, &STREAM_PROTOCOL), spoken)?;
        let headers = vec![
            (CONNECTION, HeaderValue::from_static("Upgrade")),
            (UPGRADE, HeaderValue::from_static(SPDY)),
            (STREAM_PROTOCOL, HeaderValue::from_static(protocol)),
        ];
        Ok((Carrier::Connection, protocol, headers))
    })
}

/// Whether a websocket protocol carries SPDY.
pub(in crate::pods::stream) fn carrier(protocol: &str) -> Option<Carrier> {
    (protocol == TUNNEL).then_some(Carrier::WebSocket)
}

/// Serves a streaming request until it is complete or the client disconnects.
pub(in crate::pods::stream) async fn serve_on<I>(
    carrier: Carrier,
    io: I,
    request: StreamRequest,
    kubelet: &Kubelet,
) where
    I: AsyncRead + AsyncWrite + Unpin,
{
    match carrier {
        Carrier::Connection => serve(io, request, kubelet).await,
        Carrier::WebSocket => {
            let (inner, outer) = duplex(64 * 1024);
            tokio::join!(tunnel::run(io, outer), serve(inner, request, kubelet));
        }
    }
}
