//! The bottom of every stack: requests to connections.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::UPGRADE;
use http::{Request, Response, Uri, Version};
use http_body::Body;
use http_body_util::Either;
use hyper_util::client::legacy::Client;
use tower::BoxError;
use tower_service::Service;

use super::http1::{self, Connector, HandedOver, alone};
use super::http2;
use super::pool::{Pool, Way};
use super::{Carrier, FreshConnection, Spawn};

/// Sends requests to one server: over HTTP/2 where it offers that, else over HTTP/1.1.
///
/// Those with an `Upgrade` header go over HTTP/1.1 connections of their own: HTTP/2 has no such thing. So do those with
/// [`FreshConnection`].
pub(crate) struct Transport<B>(Arc<Ways<B>>);

struct Ways<B> {
    pool: Pool<B>,
    alone: Client<HandedOver, B>,
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
    /// To `server`, by a connector on whose connections the server may choose HTTP/2 and one on whose it may not.
    pub(crate) fn new(
        server: Uri,
        [connector, http1_connector]: [Connector; 2],
        spawn: Spawn,
        epoch: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        let alone = alone(http1_connector.clone(), &spawn);
        let pool = Pool::new(server, [connector, http1_connector], spawn, Box::new(epoch));
        Self(Arc::new(Ways { pool, alone }))
    }
}

/// The body of an answer.
pub(super) type Answer = Either<http2::Incoming, Either<http1::Incoming, hyper::body::Incoming>>;

impl<B> Service<Request<B>> for Transport<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = Sending;

    /// Connections are made as they are needed.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Sending {
        let alone = request.extensions().get::<FreshConnection>().is_some();
        if alone || request.headers().contains_key(UPGRADE) {
            Carrier::note(&request, Version::HTTP_11);
            let answer = self.0.alone.request(request);
            return Sending::Waiting(
                async move { Ok(answer.await?.map(|body| Either::Right(Either::Right(body)))) }.boxed(),
            );
        }
        match self.0.pool.send(request) {
            Way::Sent(exchange) => Sending::Sent(exchange),
            way => Sending::Waiting(go(Arc::clone(&self.0), way).boxed()),
        }
    }
}

/// A connection that the server closes before it takes a request is followed by another one this often.
const CONNECTIONS: usize = 3;

/// No connection stays open long enough for a request.
#[derive(Debug, thiserror::Error)]
#[error("the server closes each connection at once")]
struct ClosesAll(#[source] Option<Arc<h2::Error>>);

async fn go<B>(ways: Arc<Ways<B>>, mut way: Way<B>) -> Result<Response<Answer>, BoxError>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let mut closed = 0;
    loop {
        way = match way {
            Way::Sent(exchange) => return Ok(exchange.await?.map(Either::Left)),
            Way::Http1(client, request) => {
                Carrier::note(&request, Version::HTTP_11);
                return Ok(client.request(request).await?.map(|body| Either::Right(Either::Left(body))));
            }
            Way::Opening(opening, place, request) => {
                opening.await?;
                // A connection that has room for fewer than waited for it has taken others, so that this ends.
                if place.is_closed() {
                    closed += 1;
                }
                if closed > CONNECTIONS {
                    return Err(ClosesAll(place.failure()).into());
                }
                drop(place);
                ways.pool.send(request)
            }
        };
    }
}

/// The future of [`Transport`].
pub(crate) enum Sending {
    Sent(http2::Exchange),
    Waiting(BoxFuture<'static, Result<Response<Answer>, BoxError>>),
}

impl Future for Sending {
    type Output = Result<Response<Answer>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Sent(exchange) => {
                let answer = ready!(exchange.poll_unpin(cx));
                Poll::Ready(answer.map(|answer| answer.map(Either::Left)))
            }
            Self::Waiting(answer) => answer.poll_unpin(cx),
        }
    }
}
