//! HTTP/1.1 over pooled connections.

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

use super::Spawn;
use super::any::AnyIo;
use super::connector::DeadlineConnector;
use super::io::DeadlineIo;

/// Requests over HTTP/1.1.
pub(super) struct Http1<B> {
    client: Client<HandedOver, B>,
    health: Arc<Health>,
}

impl<B> Http1<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Sends a request.
    pub(super) async fn request(&self, request: Request<B>) -> Result<Response<Incoming>, BoxError> {
        let mut unfinished = Unfinished::new(Arc::clone(&self.health));
        match self.client.request(request).await {
            Ok(answer) => Ok(answer.map(|body| Incoming::new(body, unfinished))),
            Err(err) => {
                unfinished.failed = true;
                Err(err.into())
            }
        }
    }

    /// Whether an exchange has failed, or was given up after a silence, while nothing came on the other connections either.
    ///
    /// What happened to its connection may have happened to those that wait for their next request, too, and nothing shows it but such
    /// a request. So they are not worth being used again.
    pub(super) fn broke_off(&self) -> bool {
        self.health.broke_off.load(Ordering::Relaxed)
    }
}

/// Who gives up an answer sooner than this has not waited for the server in vain.
const SILENCE: Duration = Duration::from_secs(5);

/// What is known of all connections together.
///
/// Its parts need no order among them.
struct Health {
    since: Instant,
    /// When something last came on any of them: in nanoseconds from `since` on.
    heard: AtomicU64,
    broke_off: AtomicBool,
}

impl Health {
    fn new() -> Self {
        Self { since: Instant::now(), heard: AtomicU64::new(0), broke_off: AtomicBool::new(false) }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// An exchange that has not come to its end.
struct Unfinished {
    /// `None` when it has.
    health: Option<Arc<Health>>,
    /// When something last came on it, or when it began.
    heard: u64,
    failed: bool,
}

impl Unfinished {
    fn new(health: Arc<Health>) -> Self {
        Self { heard: health.now(), health: Some(health), failed: false }
    }

    fn note_heard(&mut self) {
        if let Some(health) = &self.health {
            self.heard = health.now();
            health.heard.fetch_max(self.heard, Ordering::Relaxed);
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(health) = &self.health else { return };
        let silence = Duration::from_nanos(health.now().saturating_sub(self.heard));
        let others_heard = health.heard.load(Ordering::Relaxed) > self.heard;
        if (self.failed || silence >= SILENCE) && !others_heard {
            health.broke_off.store(true, Ordering::Relaxed);
        }
    }
}

/// The body of an answer. To drop it before its end closes the connection.
pub(crate) struct Incoming {
    body: hyper::body::Incoming,
    unfinished: Unfinished,
}

impl Incoming {
    fn new(body: hyper::body::Incoming, unfinished: Unfinished) -> Self {
        let mut this = Self { body, unfinished };
        this.unfinished.note_heard();
        this.note_end();
        this
    }

    fn note_end(&mut self) {
        if self.body.is_end_stream() {
            self.unfinished.health = None;
        }
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Err(_)) => self.unfinished.failed = true,
            Some(Ok(_)) => {
                self.unfinished.note_heard();
                self.note_end();
            }
            None => {
                self.unfinished.note_heard();
                self.unfinished.health = None;
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

pub(super) type Connection = DeadlineIo<AnyIo>;
pub(super) type Connector = DeadlineConnector<super::AnyConnector>;

/// Requests over the connection that is there already and those that `connector` makes.
pub(super) fn keeping<B>(first: Connection, connector: Connector, spawn: &Spawn) -> Http1<B>
where
    B: Body<Data = Bytes> + Send,
{
    let first = Arc::new(Mutex::new(Some(first)));
    Http1 { client: builder(spawn).build(HandedOver { first, connector }), health: Arc::new(Health::new()) }
}

/// Each request over a connection of its own: one for an upgrade is used up by it, and one that the server did not upgrade is not
/// worth keeping.
pub(super) fn alone<B>(connector: Connector, spawn: &Spawn) -> Client<HandedOver, B>
where
    B: Body<Data = Bytes> + Send,
{
    builder(spawn).pool_max_idle_per_host(0).build(HandedOver { first: Arc::default(), connector })
}

fn builder(spawn: &Spawn) -> Builder {
    let mut builder = Client::builder(Spawner(Arc::clone(spawn)));
    builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
    builder
}

/// Gives the connection that is there already to whoever asks first.
#[derive(Clone)]
pub(super) struct HandedOver {
    first: Arc<Mutex<Option<Connection>>>,
    connector: Connector,
}

impl Service<Uri> for HandedOver {
    type Response = Connection;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Connection, BoxError>>;

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

#[derive(Clone)]
struct Spawner(Spawn);

impl hyper::rt::Executor<BoxFuture<'static, ()>> for Spawner {
    fn execute(&self, task: BoxFuture<'static, ()>) {
        (self.0)(task);
    }
}
