//! The connections to one server, and which of them carries a request.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use http::{Request, Uri};
use http_body::Body;
use hyper_util::client::legacy::connect::Connection as _;
use hyper_util::rt::TokioIo;
use tower::{BoxError, ServiceExt};

use super::deadline::ServerConnector;
use super::http1::{Http1Client, pooled};
use super::http2::{Http2Connection, MAX_STREAMS, ResponseFuture, Slot, StreamSlots};
use super::spawn::Spawn;

/// Sends requests over the first HTTP/2 connection with a free slot, and opens another one when none has any.
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
    spawn: Spawn,
    epoch: Box<dyn Fn() -> u64 + Send + Sync>,
    state: Mutex<PoolState<B>>,
}

struct PoolState<B> {
    epoch: u64,
    /// Set when the server chose HTTP/1.1, until its connections become suspect: then the protocol is negotiated again.
    http1: Option<Arc<Http1Client<B>>>,
    http2: Vec<PooledConnection<B>>,
    /// The slots of a new connection, as learned from the previous one.
    max_streams: u32,
}

impl<B> PoolState<B> {
    fn empty(epoch: u64) -> Self {
        Self { epoch, http1: None, http2: Vec::new(), max_streams: MAX_STREAMS }
    }
}

struct PooledConnection<B> {
    slots: Arc<StreamSlots>,
    state: ConnectionState<B>,
}

enum ConnectionState<B> {
    Connecting(Connecting<B>),
    Open(Http2Connection),
}

/// A connection attempt, polled by all requests that wait for it. It makes no progress once the last of them is dropped.
pub(super) type Connecting<B> = Shared<BoxFuture<'static, Result<Established<B>, ConnectFailed>>>;

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

/// What a request gets from the pool.
pub(super) enum Checkout<B> {
    Sent(ResponseFuture),
    /// Send it with this client.
    Http1(Arc<Http1Client<B>>, Request<B>),
    /// Wait for the connection, then check out again. The slot is held until then.
    Connecting(Connecting<B>, Slot, Request<B>),
}

impl<B> Pool<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Opens no connection yet.
    pub(super) fn new(
        server: Uri,
        [connector, http1_connector]: [ServerConnector; 2],
        spawn: Spawn,
        epoch: Box<dyn Fn() -> u64 + Send + Sync>,
    ) -> Self {
        let state = Mutex::new(PoolState::empty(epoch()));
        Self { server, connector, http1_connector, spawn, epoch, state }
    }

    /// Sends the request if a connection is open.
    pub(super) fn send(&self, request: Request<B>) -> Checkout<B> {
        let epoch = (self.epoch)();
        let mut state = self.state();
        if epoch != state.epoch {
            *state = PoolState::empty(epoch);
        }
        state.refresh();
        if let Some(client) = &state.http1 {
            return Checkout::Http1(Arc::clone(client), request);
        }
        for entry in &mut state.http2 {
            let Some(slot) = entry.slots.try_acquire() else { continue };
            match &mut entry.state {
                ConnectionState::Connecting(connecting) => {
                    return Checkout::Connecting(connecting.clone(), slot, request);
                }
                ConnectionState::Open(connection) => {
                    if connection.is_ready(&entry.slots) {
                        return Checkout::Sent(connection.send(request, slot));
                    }
                }
            }
        }
        let slots = Arc::new(StreamSlots::new(state.max_streams));
        let slot = slots.try_acquire().expect("invariant: a new connection has a free slot");
        let connecting = self.open(Arc::clone(&slots));
        state.http2.push(PooledConnection { slots, state: ConnectionState::Connecting(connecting.clone()) });
        Checkout::Connecting(connecting, slot, request)
    }

    fn state(&self) -> MutexGuard<'_, PoolState<B>> {
        // No update leaves the state inconsistent, so it stays usable after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, slots: Arc<StreamSlots>) -> Connecting<B> {
        let connecting = self.connector.clone().oneshot(self.server.clone()).boxed();
        let (http1_connector, spawn) = (self.http1_connector.clone(), Arc::clone(&self.spawn));
        let connecting = async move {
            let io = connecting.await.map_err(ConnectFailed::new)?;
            if !io.connected().is_negotiated_h2() {
                return Ok(Established::Http1(Arc::new(pooled(io, http1_connector, &spawn))));
            }
            let connection = Http2Connection::open(TokioIo::new(io), slots, &spawn).await;
            connection.map(Established::Http2).map_err(ConnectFailed::new)
        };
        connecting.boxed().shared()
    }
}

impl<B> PoolState<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Collects the results of finished connection attempts, and removes closed connections.
    fn refresh(&mut self) {
        let Self { http1, http2, max_streams, .. } = self;
        http1.take_if(|client| client.is_suspect());
        http2.retain_mut(|entry| {
            let ConnectionState::Connecting(connecting) = &entry.state else {
                return !entry.slots.is_closed();
            };
            match connecting.peek() {
                Some(Ok(Established::Http2(connection))) => {
                    *max_streams = entry.slots.max();
                    entry.state = ConnectionState::Open(connection.clone());
                    true
                }
                Some(Ok(Established::Http1(client))) => {
                    *http1 = Some(Arc::clone(client));
                    false
                }
                Some(Err(_)) => false,
                // An attempt without waiting requests is not polled: its timeout would have expired for the next request.
                None => connecting.strong_count().is_some_and(|holders| holders > 1),
            }
        });
    }
}

/// Why a connection attempt failed, shared by all requests that waited for it.
#[derive(Clone, Debug)]
pub(super) struct ConnectFailed(Arc<dyn std::error::Error + Send + Sync>);

impl ConnectFailed {
    fn new(err: BoxError) -> Self {
        Self(err.into())
    }
}

impl fmt::Display for ConnectFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ConnectFailed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}
