//! The innermost service of every stack: sends requests over connections.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::UPGRADE;
use http::{Request, Response, Uri, Version};
use http_body::Body;
use http_body_util::Either;
use tower::BoxError;
use tower_service::Service;

use super::deadline::ServerConnector;
use super::error::ConnectionsClosed;
use super::executor::SharedExecutor;
use super::extensions::{FreshConnection, NegotiatedVersion};
use super::gate::ConnectGate;
use super::http1::Http1Client;
use super::http2::Closed;
use super::pool::{Checkout, Pool, ResponseBody};

/// Sends requests to one server: over HTTP/2 if the server negotiates it, else over HTTP/1.1.
///
/// Requests with an `Upgrade` header or with [`FreshConnection`] each use a new HTTP/1.1 connection; HTTP/2 has no upgrades.
pub(crate) struct Transport<B>(Arc<Inner<B>>);

struct Inner<B> {
    pool: Pool<B>,
    /// For requests that do not share a connection.
    alone: Http1Client<B>,
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
    /// `connectors`: one that offers HTTP/2 and HTTP/1.1 by ALPN, one for HTTP/1.1 only. See [`Pool`] for `epoch`.
    pub(crate) fn new(
        server: Uri,
        connectors: [ServerConnector; 2],
        executor: SharedExecutor,
        epoch: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        let gate = Arc::new(ConnectGate::default());
        let alone = Http1Client::connecting_anew(connectors[1].clone(), Arc::clone(&gate), executor.clone());
        Self(Arc::new(Inner { pool: Pool::new(server, connectors, gate, executor, Box::new(epoch)), alone }))
    }
}

impl<B> Service<Request<B>> for Transport<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<ResponseBody>, BoxError>>;

    /// Always ready: connections are made on demand.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let fresh = request.extensions().get::<FreshConnection>().is_some();
        if fresh || request.headers().contains_key(UPGRADE) {
            NegotiatedVersion::record(&request, Version::HTTP_11);
            let response = self.0.alone.request(request);
            return async move { Ok(response.await?.map(Either::Right)) }.boxed();
        }
        match self.0.pool.send(request) {
            Checkout::Sent(response) => response,
            checkout => finish(Arc::clone(&self.0), checkout).boxed(),
        }
    }
}

/// How many connections a request retries after the server closed one before the request was sent.
const MAX_CLOSED_CONNECTIONS: usize = 3;

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
            Checkout::Sent(response) => return response.await,
            Checkout::Http1(client, request) => {
                NegotiatedVersion::record(&request, Version::HTTP_11);
                return Ok(client.request(request).await?.map(Either::Right));
            }
            Checkout::Connecting(connecting, stream, request) => {
                // The pool finds the connection as long as one request holds the attempt.
                connecting.clone().await?;
                // Without a free stream the loop still ends: others that waited for the connection got its streams.
                if let Some(reason) = stream.connection().closed() {
                    closed += 1;
                    if closed > MAX_CLOSED_CONNECTIONS {
                        let failure = if let Closed::Failed(err) = reason { Some(err) } else { None };
                        return Err(ConnectionsClosed(failure).into());
                    }
                }
                drop(stream);
                inner.pool.send(request)
            }
        };
    }
}
