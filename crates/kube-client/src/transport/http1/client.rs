//! Sends requests over HTTP/1.1 by hyper-util's client, which keeps idle connections for the next request.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response, Uri};
use http_body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioTimer;
use parking_lot::Mutex;
use tower::{BoxError, Service, ServiceExt};

use super::body::Http1Body;
use super::health::{Health, InFlight};
use crate::transport::deadline::{ServerConnector, ServerIo};
use crate::transport::error::http1_error;
use crate::transport::executor::SharedExecutor;
use crate::transport::gate::ConnectGate;

/// A connection that was idle for this long is not used again. Servers and load balancers mostly wait longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// Sends each request over a connection that carries no other one: an idle one if there is any, else a new one.
pub(in crate::transport) struct Http1Client<B> {
    client: Client<Connect, B>,
    /// `None` if no connection is used twice.
    health: Option<Arc<Health>>,
}

/// Makes a connection. hyper-util clones its connector with every request, so the clones share one.
#[derive(Clone)]
struct Connect(Arc<dyn Fn(Uri) -> Connecting + Send + Sync>);

type Connecting = BoxFuture<'static, Result<ServerIo, BoxError>>;

impl Service<Uri> for Connect {
    type Response = ServerIo;
    type Error = BoxError;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Connecting {
        (self.0)(server)
    }
}

impl<B> Http1Client<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Reuses connections, and begins with the open connection `first`.
    pub(in crate::transport) fn reusing(
        first: ServerIo,
        connector: ServerConnector,
        gate: Arc<ConnectGate>,
        executor: SharedExecutor,
    ) -> Self {
        let client = Client::builder(executor.clone())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(starting_with(first, gated(connector, gate, executor)));
        Self { client, health: Some(Arc::new(Health::new())) }
    }

    /// Uses a new connection for each request. It may be upgraded.
    pub(in crate::transport) fn connecting_anew(
        connector: ServerConnector,
        gate: Arc<ConnectGate>,
        executor: SharedExecutor,
    ) -> Self {
        let client = Client::builder(executor.clone())
            .pool_max_idle_per_host(0)
            .build(gated(connector, gate, executor));
        Self { client, health: None }
    }

    pub(in crate::transport) fn request(
        &self,
        request: Request<B>,
    ) -> impl Future<Output = Result<Response<Http1Body>, BoxError>> + use<B> {
        let mut in_flight = InFlight::new(self.health.clone());
        let response = self.client.request(request);
        async move {
            match response.await {
                Ok(response) => Ok(response.map(|body| Http1Body::new(body, in_flight))),
                Err(err) => {
                    in_flight.fail();
                    Err(http1_error(err))
                }
            }
        }
    }

    /// Whether a request failed, or was dropped after a time without data, while the other connections received nothing either.
    ///
    /// Its connection may have died, and idle ones with it (a failed node, a lost route). An idle HTTP/1.1 connection shows that only
    /// with the next request, so the caller drops this client, and its idle connections with it.
    pub(in crate::transport) fn is_suspect(&self) -> bool {
        self.health.as_ref().is_some_and(|health| health.is_suspect())
    }
}

fn gated(connector: ServerConnector, gate: Arc<ConnectGate>, executor: SharedExecutor) -> Connect {
    Connect(Arc::new(move |server| {
        let connecting = connector.clone().oneshot(server).boxed();
        let attempt = Arc::clone(&gate).attempt(executor.clone(), connecting);
        async move { Ok(attempt.await?) }.boxed()
    }))
}

/// A connector that returns an open connection first.
fn starting_with(first: ServerIo, connector: Connect) -> Connect {
    let first = Mutex::new(Some(first));
    Connect(Arc::new(move |server| {
        let first = first.lock().take();
        match first {
            Some(io) => async { Ok(io) }.boxed(),
            None => (connector.0)(server),
        }
    }))
}
