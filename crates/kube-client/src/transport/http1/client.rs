//! Sends requests over connections that are kept for the next request.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{Either, select};
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tower::BoxError;

use super::body::{Http1Body, Release};
use super::connection::{Http1Connection, Http1Connector, failed, in_origin_form};
use super::health::{Health, InFlight};
use super::idle::IdleConnections;
use crate::transport::deadline::ServerIo;

/// Sends each request over a connection that carries no other one: an idle one if there is any, else a new one.
pub(in crate::transport) struct Http1Client<B> {
    connector: Http1Connector,
    idle: Arc<IdleConnections<B>>,
    health: Arc<Health>,
}

impl<B> Http1Client<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Uses the open connection `first` for the first request.
    pub(in crate::transport) async fn open(
        first: ServerIo,
        connector: Http1Connector,
    ) -> Result<Self, BoxError> {
        let first = Http1Connection::open(first, &connector.spawn).await?;
        let idle = Arc::new(IdleConnections::new(Arc::clone(&connector.spawn)));
        idle.put(first);
        Ok(Self { connector, idle, health: Arc::new(Health::new()) })
    }

    pub(in crate::transport) async fn request(
        &self,
        request: Request<B>,
    ) -> Result<Response<Http1Body>, BoxError> {
        let mut in_flight = InFlight::new(Arc::clone(&self.health));
        match self.send(request).await {
            Ok((response, connection)) => {
                let release = self.release(connection);
                Ok(response.map(|body| Http1Body::new(body, in_flight, release)))
            }
            Err(err) => {
                in_flight.fail();
                Err(err)
            }
        }
    }

    /// Whether a request failed, or was dropped after a time without data, while the other connections received nothing either.
    ///
    /// Its connection may have died, and idle ones with it (a failed node, a lost route). An idle HTTP/1.1 connection shows that only
    /// with the next request, so none of them is used again.
    pub(in crate::transport) fn is_suspect(&self) -> bool {
        self.health.is_suspect()
    }

    async fn send(&self, request: Request<B>) -> Result<(Response<Incoming>, Http1Connection<B>), BoxError> {
        let mut request = in_origin_form(request);
        loop {
            let (mut connection, is_new) = match self.idle.take() {
                Some(connection) => (connection, false),
                None => self.connect().await?,
            };
            let mut err = match connection.send(request).await {
                Ok(response) => return Ok((response, connection)),
                Err(err) => err,
            };
            // The server may close an idle connection at any time. A request that was not sent is sent over another one.
            request = match err.take_message() {
                Some(unsent) if !is_new => unsent,
                _ => return Err(failed(err)),
            };
        }
    }

    /// A new connection, or one that becomes idle earlier: then the new one becomes idle. Also returns whether it is new.
    async fn connect(&self) -> Result<(Http1Connection<B>, bool), BoxError> {
        match select(self.idle.wait(), self.connector.connect()).await {
            Either::Left((Ok(connection), connecting)) => {
                let idle = Arc::clone(&self.idle);
                let becomes_idle = connecting.map(move |connected| connected.map_or((), |new| idle.put(new)));
                (self.connector.spawn)(becomes_idle.boxed());
                Ok((connection, false))
            }
            Either::Left((Err(_), connecting)) => Ok((connecting.await?, true)),
            Either::Right((connected, mut waiting)) => {
                waiting.close();
                if let Ok(connection) = waiting.try_recv() {
                    self.idle.put(connection);
                }
                Ok((connected?, true))
            }
        }
    }

    /// Makes the connection idle as soon as it can carry another request.
    fn release(&self, mut connection: Http1Connection<B>) -> Release {
        let (idle, spawn) = (Arc::clone(&self.idle), Arc::clone(&self.connector.spawn));
        Box::new(move || {
            if connection.is_ready() {
                idle.put(connection);
            } else if !connection.is_closed() {
                // The rest of the request's body is still being sent.
                spawn(
                    async move {
                        if connection.becomes_ready().await {
                            idle.put(connection);
                        }
                    }
                    .boxed(),
                );
            }
        })
    }
}
