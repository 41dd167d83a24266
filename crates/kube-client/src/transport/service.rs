//! The innermost service of every stack: sends requests over connections.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use http::header::UPGRADE;
use http::{Request, Response, Uri, Version};
use http_body::Body;
use http_body_util::Either;
use tower::BoxError;
use tower_service::Service;

use super::deadline::ServerConnector;
use super::extensions::{FreshConnection, NegotiatedVersion};
use super::http1::{Http1Body, Http1Connector};
use super::http2::{self, Http2Body};
use super::pool::{Checkout, Pool};
use super::spawn::Spawn;

/// Sends requests to one server: over HTTP/2 if the server negotiates it, else over HTTP/1.1.
///
/// Requests with an `Upgrade` header or with [`FreshConnection`] each use a new HTTP/1.1 connection; HTTP/2 has no upgrades.
pub(crate) struct Transport<B>(Arc<Inner<B>>);

struct Inner<B> {
    pool: Pool<B>,
    /// For requests that do not share a connection.
    http1: Http1Connector,
}

impl<B> Clone for Transport<B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B> Transport<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// `connector` offers HTTP/2 and HTTP/1.1 by ALPN, `http1_connector` HTTP/1.1 only. See [`Pool`] for `epoch`.
    pub(crate) fn new(
        server: Uri,
        [connector, http1_connector]: [ServerConnector; 2],
        spawn: Spawn,
        epoch: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        let http1 = Http1Connector { server, connector: http1_connector, spawn };
        let pool = Pool::new(connector, http1.clone(), Box::new(epoch));
        Self(Arc::new(Inner { pool, http1 }))
    }
}

/// The body of a response.
pub(super) type ResponseBody = Either<Http2Body, Http1Body>;

impl<B> Service<Request<B>> for Transport<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = TransportFuture;

    /// Always ready: connections are made on demand.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> TransportFuture {
        let fresh = request.extensions().get::<FreshConnection>().is_some();
        if fresh || request.headers().contains_key(UPGRADE) {
            NegotiatedVersion::record(&request, Version::HTTP_11);
            let response = self.0.http1.send_alone(request);
            return TransportFuture::Waiting(response.map_ok(|response| response.map(Either::Right)).boxed());
        }
        match self.0.pool.send(request) {
            Checkout::Sent(response) => TransportFuture::Sent(response),
            checkout => TransportFuture::Waiting(finish(Arc::clone(&self.0), checkout).boxed()),
        }
    }
}

/// How many connections a request retries after the server closed one before the request was sent.
const MAX_CLOSED_CONNECTIONS: usize = 3;

/// The server closed every connection before the request was sent.
#[derive(Debug, thiserror::Error)]
#[error("the server closes each connection before it accepts a request")]
struct ConnectionsClosed(#[source] Option<Arc<h2::Error>>);

async fn finish<B>(
    inner: Arc<Inner<B>>,
    mut checkout: Checkout<B>,
) -> Result<Response<ResponseBody>, BoxError>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let mut closed = 0;
    loop {
        checkout = match checkout {
            Checkout::Sent(response) => return Ok(response.await?.map(Either::Left)),
            Checkout::Http1(client, request) => {
                NegotiatedVersion::record(&request, Version::HTTP_11);
                return Ok(client.request(request).await?.map(Either::Right));
            }
            Checkout::Connecting(connecting, slot, request) => {
                connecting.await?;
                // Without a free slot the loop still ends: others that waited for the connection got its slots.
                if slot.is_closed() {
                    closed += 1;
                }
                if closed > MAX_CLOSED_CONNECTIONS {
                    return Err(ConnectionsClosed(slot.failure()).into());
                }
                drop(slot);
                inner.pool.send(request)
            }
        };
    }
}

/// The future of [`Transport`].
pub(crate) enum TransportFuture {
    Sent(http2::ResponseFuture),
    Waiting(BoxFuture<'static, Result<Response<ResponseBody>, BoxError>>),
}

impl Future for TransportFuture {
    type Output = Result<Response<ResponseBody>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Sent(response) => {
                let response = ready!(response.poll_unpin(cx));
                Poll::Ready(response.map(|response| response.map(Either::Left)))
            }
            Self::Waiting(response) => response.poll_unpin(cx),
        }
    }
}
