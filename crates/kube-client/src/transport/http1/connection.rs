//! One HTTP/1.1 connection, and how a request is written to it.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, Either, select};
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{SendRequest, handshake};
use tower::{BoxError, ServiceExt};

use super::body::Http1Body;
use super::health::InFlight;
use crate::transport::deadline::{ServerConnector, ServerIo};
use crate::transport::error::ConnectionFailed;
use crate::transport::spawn::Spawn;

/// Opens connections to one server.
#[derive(Clone)]
pub(in crate::transport) struct Http1Connector {
    pub(in crate::transport) server: Uri,
    pub(in crate::transport) connector: ServerConnector,
    pub(in crate::transport) spawn: Spawn,
}

impl Http1Connector {
    pub(super) fn connect<B>(&self) -> BoxFuture<'static, Result<Http1Connection<B>, BoxError>>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let io = self.connector.clone().oneshot(self.server.clone()).boxed();
        let spawn = Arc::clone(&self.spawn);
        async move { Http1Connection::open(io.await?, &spawn).await }.boxed()
    }

    /// Sends a request over a new connection, which no other request uses. It may be upgraded.
    pub(in crate::transport) fn send_alone<B>(
        &self,
        request: Request<B>,
    ) -> impl Future<Output = Result<Response<Http1Body>, BoxError>> + use<B>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let (connecting, request) = (self.connect(), in_origin_form(request));
        async move {
            let mut connection = connecting.await?;
            let response = connection.send(request).await.map_err(failed)?;
            Ok(response
                .map(|body| Http1Body::new(body, InFlight::alone(), Box::new(move || drop(connection)))))
        }
    }
}

/// An open connection without a request in flight. It closes when it is dropped.
pub(super) struct Http1Connection<B>(SendRequest<B>);

impl<B> Http1Connection<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    pub(super) async fn open(io: ServerIo, spawn: &Spawn) -> Result<Self, BoxError> {
        let (mut sender, connection) = handshake(io).await.map_err(connection_failed)?;
        let connection = connection.with_upgrades().boxed();
        // If it ends before the first request, only the connection knows why. Later the request gets its error.
        match select(sender.ready().boxed(), connection).await {
            Either::Left((Ok(()), connection)) => spawn(connection.map(drop).boxed()),
            Either::Left((Err(err), _)) | Either::Right((Err(err), _)) => return Err(connection_failed(err)),
            Either::Right((Ok(()), _)) => {}
        }
        Ok(Self(sender))
    }

    /// The error contains the request if nothing of it was sent.
    pub(super) fn send(
        &mut self,
        request: Request<B>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<Request<B>>>> + use<B> {
        self.0.try_send_request(request)
    }

    /// Waits until the connection can carry another request. Returns whether it can.
    pub(super) async fn becomes_ready(&mut self) -> bool {
        self.0.ready().await.is_ok()
    }
}

impl<B> Http1Connection<B> {
    pub(super) fn is_ready(&self) -> bool {
        self.0.is_ready()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// Why a request on this connection got no response.
pub(super) fn failed<B>(err: TrySendError<Request<B>>) -> BoxError {
    connection_failed(err.into_error())
}

fn connection_failed(err: hyper::Error) -> BoxError {
    ConnectionFailed(err.into()).into()
}

/// A request names the server in `Host` and only the path in its first line (RFC 9112, 3.2).
pub(super) fn in_origin_form<B>(mut request: Request<B>) -> Request<B> {
    let uri = std::mem::take(request.uri_mut());
    if !request.headers().contains_key(HOST)
        && let Some(host) = host_header(&uri)
    {
        request.headers_mut().insert(HOST, host);
    }
    let path = uri.into_parts().path_and_query;
    *request.uri_mut() = path.unwrap_or_else(|| PathAndQuery::from_static("/")).into();
    request
}

/// Host and port, without the port that the scheme implies.
fn host_header(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.host()?;
    let value = match (uri.port_u16(), uri.scheme_str()) {
        (None, _) | (Some(443), Some("https")) | (Some(80), Some("http")) => HeaderValue::try_from(host),
        (Some(port), _) => HeaderValue::try_from(format!("{host}:{port}")),
    };
    Some(value.expect("invariant: the host of a URL has only ASCII characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_path_in_its_first_line_and_the_server_in_host() {
        for (url, host, path) in [
            ("https://h/api/v1?watch=1", "h", "/api/v1?watch=1"),
            ("https://h:443", "h", "/"),
            ("http://h:80/", "h", "/"),
            ("http://h:443/x", "h:443", "/x"),
            ("https://h:6443/x", "h:6443", "/x"),
            ("https://user:secret@[::1]:6443/x", "[::1]:6443", "/x"),
        ] {
            let request = in_origin_form(Request::get(url).body(()).unwrap());
            assert_eq!(
                (&request.headers()[HOST], request.uri().to_string()),
                (&HeaderValue::from_static(host), path.to_owned())
            );
        }
        let own = Request::get("https://h/x").header(HOST, "other").body(()).unwrap();
        assert_eq!(in_origin_form(own).headers()[HOST], "other");
    }
}
