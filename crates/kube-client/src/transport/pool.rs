//! The connections to one server, and which of them carries a request.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::{BoxFuture, Shared, WeakShared};
use futures::{FutureExt, TryFutureExt};
use http::{Request, Response, Uri};
use http_body::Body;
use http_body_util::Either;
use hyper_util::client::legacy::connect::Connection as _;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tower::{BoxError, ServiceExt};

use super::deadline::ServerConnector;
use super::error::ConnectFailed;
use super::executor::SharedExecutor;
use super::gate::ConnectGate;
use super::http1::{Http1Body, Http1Client};
use super::http2::{Http2Body, Http2Connection, MAX_STREAMS, OpenStream, Streams};

/// Sends requests over the first HTTP/2 connection that has a free stream, and opens another one when none has any.
///
/// An API server allows 100 concurrent streams per connection, and every watch holds one. With a single connection the next request
/// would wait until a watch ends, which may be never.
///
/// The server chooses between HTTP/2 and HTTP/1.1 (ALPN); with HTTP/1.1 each request in flight has a connection of its own.
///
/// When `epoch` returns a new value, new requests use new connections; requests in flight finish on the old ones.
pub(super) struct Pool<B> {
    server: Uri,
    /// Offers HTTP/2 and HTTP/1.1.
    connector: ServerConnector,
    /// Offers HTTP/1.1 only: for further connections to a server that chose it.
    http1_connector: ServerConnector,
    gate: Arc<ConnectGate>,
    executor: SharedExecutor,
    epoch: Box<dyn Fn() -> u64 + Send + Sync>,
    state: Mutex<PoolState<B>>,
}

struct PoolState<B> {
    epoch: u64,
    /// Set when the server chose HTTP/1.1, until its connections become suspect: then the protocol is negotiated again.
    http1: Option<Arc<Http1Client<B>>>,
    http2: Vec<PooledConnection<B>>,
    /// The streams of a new connection, as learned from the previous one.
    max_streams: usize,
}

impl<B> PoolState<B> {
    fn empty(epoch: u64) -> Self {
        Self { epoch, http1: None, http2: Vec::new(), max_streams: MAX_STREAMS }
    }
}

struct PooledConnection<B> {
    streams: Arc<Streams>,
    state: ConnectionState<B>,
}

enum ConnectionState<B> {
    /// Without the requests that wait for it, the attempt ends.
    Connecting(WeakShared<Attempt<B>>),
    Open(Http2Connection),
}

/// A connection attempt by a task. All requests that wait for it hold a clone; it ends when the last of them is dropped.
pub(super) type Connecting<B> = Shared<Attempt<B>>;

type Attempt<B> = BoxFuture<'static, Result<Established<B>, ConnectFailed>>;

pub(super) enum Established<B> {
    Http2(Http2Connection),
    Http1(Arc<Http1Client<B>>),
}

impl<B> Clone for Established<B> {
    fn clone(&self) -> Self {
        match self {
            Self::Http2(connection) => Self::Http2(connection.clone()),
            Self::Http1(client) => Self::Http1(Arc::clone(client)),
        }
    }
}

/// The body of a response.
pub(super) type ResponseBody = Either<Http2Body, Http1Body>;

/// What a request gets from the pool.
pub(super) enum Checkout<B> {
    Sent(BoxFuture<'static, Result<Response<ResponseBody>, BoxError>>),
    /// Send it with this client.
    Http1(Arc<Http1Client<B>>, Request<B>),
    /// Wait for the connection, then check out again. Both are held until then.
    Connecting(Connecting<B>, OpenStream, Request<B>),
}

impl<B> Pool<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Opens no connection yet. `connectors`: one that offers HTTP/2 and HTTP/1.1, one for HTTP/1.1 only.
    pub(super) fn new(
        server: Uri,
        connectors: [ServerConnector; 2],
        gate: Arc<ConnectGate>,
        executor: SharedExecutor,
        epoch: Box<dyn Fn() -> u64 + Send + Sync>,
    ) -> Self {
        let [connector, http1_connector] = connectors;
        let state = Mutex::new(PoolState::empty(epoch()));
        Self { server, connector, http1_connector, gate, executor, epoch, state }
    }

    /// Sends the request if a connection is open.
    pub(super) fn send(&self, request: Request<B>) -> Checkout<B> {
        let epoch = (self.epoch)();
        let mut state = self.state.lock();
        if epoch != state.epoch {
            *state = PoolState::empty(epoch);
        }
        state.refresh();
        if let Some(client) = &state.http1 {
            return Checkout::Http1(Arc::clone(client), request);
        }
        if let Some((connection, stream)) = state.open_stream() {
            let response = connection.send(request, stream);
            return Checkout::Sent(response.map_ok(|response| response.map(Either::Left)).boxed());
        }
        let (connecting, stream) = state.connecting().unwrap_or_else(|| self.add_connection(&mut state));
        Checkout::Connecting(connecting, stream, request)
    }

    fn add_connection(&self, state: &mut PoolState<B>) -> (Connecting<B>, OpenStream) {
        let streams = Arc::new(Streams::new(state.max_streams));
        let stream = streams.open().expect("invariant: a new connection has a free stream");
        let connecting = self.connect(Arc::clone(&streams));
        let waiting = connecting.downgrade().expect("invariant: it was not polled yet");
        state.http2.push(PooledConnection { streams, state: ConnectionState::Connecting(waiting) });
        (connecting, stream)
    }

    fn connect(&self, streams: Arc<Streams>) -> Connecting<B> {
        let (http1_connector, executor) = (self.http1_connector.clone(), self.executor.clone());
        let connecting = self.connector.clone().oneshot(self.server.clone()).boxed();
        let (gate, http1_gate) = (Arc::clone(&self.gate), Arc::clone(&self.gate));
        let task_executor = executor.clone();
        let connecting = async move {
            let io = connecting.await?;
            if io.connected().is_negotiated_h2() {
                Http2Connection::open(TokioIo::new(io), streams, &executor).await.map(Established::Http2)
            } else {
                let client = Http1Client::reusing(io, http1_connector, http1_gate, executor);
                Ok(Established::Http1(Arc::new(client)))
            }
        };
        gate.attempt(task_executor, connecting).boxed().shared()
    }
}

impl<B> PoolState<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// A stream of the first open connection that has a free one.
    fn open_stream(&mut self) -> Option<(&Http2Connection, OpenStream)> {
        self.http2.iter_mut().find_map(|entry| {
            let ConnectionState::Open(connection) = &mut entry.state else { return None };
            let stream = entry.streams.open()?;
            connection.is_ready(&entry.streams).then_some((&*connection, stream))
        })
    }

    /// A stream of a connection that is being opened.
    fn connecting(&self) -> Option<(Connecting<B>, OpenStream)> {
        self.http2.iter().find_map(|entry| match &entry.state {
            ConnectionState::Connecting(connecting) => Some((connecting.upgrade()?, entry.streams.open()?)),
            ConnectionState::Open(_) => None,
        })
    }

    /// Collects the results of finished connection attempts, and removes closed connections.
    fn refresh(&mut self) {
        let Self { http1, http2, max_streams, .. } = self;
        http1.take_if(|client| client.is_suspect());
        http2.retain_mut(|entry| {
            let ConnectionState::Connecting(connecting) = &entry.state else {
                return entry.streams.closed().is_none();
            };
            // Otherwise all requests that waited for it were dropped.
            let Some(connecting) = connecting.upgrade() else { return false };
            match connecting.peek() {
                Some(Ok(Established::Http2(connection))) => {
                    *max_streams = entry.streams.max();
                    entry.state = ConnectionState::Open(connection.clone());
                    true
                }
                Some(Ok(Established::Http1(client))) => {
                    *http1 = Some(Arc::clone(client));
                    false
                }
                Some(Err(_)) => false,
                None => true,
            }
        });
    }
}
