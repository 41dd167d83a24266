//! HTTP/1.1 clients, with and without a connection pool.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use http::{Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::rt::TokioTimer;
use tokio::time::Instant;
use tower::{BoxError, ServiceExt};
use tower_service::Service;

use super::deadline::{ServerConnector, ServerIo};
use super::spawn::{Spawn, SpawnExecutor};

/// Sends requests over pooled HTTP/1.1 connections.
pub(super) struct Http1Client<B> {
    client: Client<PrimedConnector, B>,
    health: Arc<Health>,
}

impl<B> Http1Client<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    pub(super) async fn request(&self, request: Request<B>) -> Result<Response<Http1Body>, BoxError> {
        let mut in_flight = InFlight::new(Arc::clone(&self.health));
        match self.client.request(request).await {
            Ok(response) => Ok(response.map(|body| Http1Body::new(body, in_flight))),
            Err(err) => {
                in_flight.failed = true;
                Err(err.into())
            }
        }
    }

    /// Whether a request failed, or was dropped after [`STALL`] without data, while the other connections received nothing either.
    ///
    /// Its connection may have died, and idle ones with it (a failed node, a lost route). An idle HTTP/1.1 connection shows that only
    /// with the next request, so none of them is used again.
    pub(super) fn is_suspect(&self) -> bool {
        self.health.suspect.load(Ordering::Relaxed)
    }
}

/// A response that is dropped after a shorter silence says nothing about its connection.
const STALL: Duration = Duration::from_secs(5);

/// The health of all connections of a client.
///
/// The atomics guard no other data, so relaxed ordering suffices.
struct Health {
    created: Instant,
    /// When data was last received on any connection: nanoseconds since `created`.
    last_received: AtomicU64,
    suspect: AtomicBool,
}

impl Health {
    fn new() -> Self {
        Self { created: Instant::now(), last_received: AtomicU64::new(0), suspect: AtomicBool::new(false) }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.created.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A request whose response is not complete.
struct InFlight {
    /// `None` once the response is complete.
    health: Option<Arc<Health>>,
    /// When data was last received for it, or when it started.
    last_received: u64,
    failed: bool,
}

impl InFlight {
    fn new(health: Arc<Health>) -> Self {
        Self { last_received: health.now(), health: Some(health), failed: false }
    }

    fn received(&mut self) {
        if let Some(health) = &self.health {
            self.last_received = health.now();
            health.last_received.fetch_max(self.last_received, Ordering::Relaxed);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(health) = &self.health else { return };
        let silence = Duration::from_nanos(health.now().saturating_sub(self.last_received));
        let others_received = health.last_received.load(Ordering::Relaxed) > self.last_received;
        if (self.failed || silence >= STALL) && !others_received {
            health.suspect.store(true, Ordering::Relaxed);
        }
    }
}

/// A response body. Dropping it early closes the connection.
pub(crate) struct Http1Body {
    body: hyper::body::Incoming,
    in_flight: InFlight,
}

impl Http1Body {
    fn new(body: hyper::body::Incoming, in_flight: InFlight) -> Self {
        let mut this = Self { body, in_flight };
        this.in_flight.received();
        this.check_end();
        this
    }

    fn check_end(&mut self) {
        if self.body.is_end_stream() {
            self.in_flight.health = None;
        }
    }
}

impl Body for Http1Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Err(_)) => self.in_flight.failed = true,
            Some(Ok(_)) => {
                self.in_flight.received();
                self.check_end();
            }
            None => {
                self.in_flight.received();
                self.in_flight.health = None;
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A client with a pool that starts with `first`.
pub(super) fn pooled<B>(first: ServerIo, connector: ServerConnector, spawn: &Spawn) -> Http1Client<B>
where
    B: Body<Data = Bytes> + Send,
{
    let first = Arc::new(Mutex::new(Some(first)));
    Http1Client {
        client: builder(spawn).build(PrimedConnector { first, connector }),
        health: Arc::new(Health::new()),
    }
}

/// A client that opens a new connection for each request, for upgrades: an upgraded connection cannot be used again.
pub(super) fn unpooled<B>(connector: ServerConnector, spawn: &Spawn) -> Client<PrimedConnector, B>
where
    B: Body<Data = Bytes> + Send,
{
    builder(spawn).pool_max_idle_per_host(0).build(PrimedConnector { first: Arc::default(), connector })
}

fn builder(spawn: &Spawn) -> Builder {
    let mut builder = Client::builder(SpawnExecutor(Arc::clone(spawn)));
    builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
    builder
}

/// A connector whose first call returns a connection that is open already, if there is one.
#[derive(Clone)]
pub(super) struct PrimedConnector {
    first: Arc<Mutex<Option<ServerIo>>>,
    connector: ServerConnector,
}

impl Service<Uri> for PrimedConnector {
    type Response = ServerIo;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<ServerIo, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        match self.first.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(connection) => ready(Ok(connection)).boxed(),
            None => self.connector.clone().oneshot(target).boxed(),
        }
    }
}
