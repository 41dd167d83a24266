//! The connections to one server, and which of them carries a request.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use http::Request;
use http_body::Body;
use hyper_util::client::legacy::connect::Connection as _;
use hyper_util::rt::TokioIo;
use parking_lot::{Mutex, MutexGuard};
use tower::{BoxError, ServiceExt};

use super::deadline::ServerConnector;
use super::http1::{Http1Client, Http1Connector};
use super::http2::{Http2Connection, MAX_STREAMS, ResponseFuture, Slot, StreamSlots};

/// Sends requests over the first HTTP/2 connection that has a free slot and is not busy, and opens another one when none has any.
///
/// An API server allows 100 concurrent streams per connection, and every watch holds one. With a single connection the next request
/// would wait until a watch ends, which may be never.
///
/// Under load it opens a few more connections and balances requests between them: over a single one, client and server would wait for
/// each other's batches. They fall idle and close when the load ends, because the first connection comes first again.
///
/// The server chooses between HTTP/2 and HTTP/1.1 (ALPN); with HTTP/1.1 each request in flight has a connection of its own.
///
/// When `epoch` returns a new value, new requests use new connections; requests in flight finish on the old ones.
pub(super) struct Pool<B> {
    /// Offers HTTP/2 and HTTP/1.1.
    connector: ServerConnector,
    /// Offers HTTP/1.1 only: for further connections to a server that chose it.
    http1: Http1Connector,
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
    /// How many requests in a row found [`BUSY`] connections only.
    busy: u32,
    /// After how many such requests another connection is opened.
    patience: u32,
}

/// A connection with as many unanswered requests is busy.
const BUSY: u32 = 8;
/// No connection is opened because of load if there are as many.
const MAX_CONNECTIONS_FOR_LOAD: usize = 4;
/// A burst is over before it profits from another connection.
const PATIENCE: u32 = 200;
/// The patience doubles with each attempt up to this, so that a server that refuses connections is seldom asked.
const MAX_PATIENCE: u32 = 1 << 16;

impl<B> PoolState<B> {
    fn empty(epoch: u64) -> Self {
        Self { epoch, http1: None, http2: Vec::new(), max_streams: MAX_STREAMS, busy: 0, patience: PATIENCE }
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
        connector: ServerConnector,
        http1: Http1Connector,
        epoch: Box<dyn Fn() -> u64 + Send + Sync>,
    ) -> Self {
        let state = Mutex::new(PoolState::empty(epoch()));
        Self { connector, http1, epoch, state }
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
        if state.is_overloaded() {
            let (connecting, _) = self.add_connection(&mut state);
            (self.http1.spawn)(connecting.map(drop).boxed());
        }
        if let Some((connection, slot)) = state.least_busy() {
            return Checkout::Sent(connection.send(request, slot));
        }
        let (connecting, slot) = state.connecting().unwrap_or_else(|| self.add_connection(&mut state));
        Checkout::Connecting(connecting, slot, request)
    }

    fn add_connection(&self, state: &mut PoolState<B>) -> (Connecting<B>, Slot) {
        let slots = Arc::new(StreamSlots::new(state.max_streams));
        let slot = slots.try_acquire().expect("invariant: a new connection has a free slot");
        let connecting = self.open(Arc::clone(&slots));
        state.http2.push(PooledConnection { slots, state: ConnectionState::Connecting(connecting.clone()) });
        (connecting, slot)
    }

    fn state(&self) -> MutexGuard<'_, PoolState<B>> {
        // No update leaves the state inconsistent, so it stays usable after a panic.
        self.state.lock()
    }

    fn open(&self, slots: Arc<StreamSlots>) -> Connecting<B> {
        let http1 = self.http1.clone();
        let connecting = self.connector.clone().oneshot(http1.server.clone()).boxed();
        let connecting = async move {
            let io = connecting.await.map_err(ConnectFailed::new)?;
            let established = if io.connected().is_negotiated_h2() {
                Http2Connection::open(TokioIo::new(io), slots, &http1.spawn).await.map(Established::Http2)
            } else {
                Http1Client::open(io, http1).await.map(|client| Established::Http1(Arc::new(client)))
            };
            established.map_err(ConnectFailed::new)
        };
        connecting.boxed().shared()
    }
}

impl<B> PoolState<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Counts a request. Returns whether to open a connection because of load.
    fn is_overloaded(&mut self) -> bool {
        let open = self.http2.iter().filter(|entry| matches!(entry.state, ConnectionState::Open(_)));
        match open.map(|entry| entry.slots.unanswered()).min() {
            Some(BUSY..) => self.busy = self.busy.saturating_add(1),
            Some(1..) => {}
            Some(0) | None => self.busy = 0,
        }
        let overloaded = self.busy >= self.patience && self.http2.len() < MAX_CONNECTIONS_FOR_LOAD;
        if overloaded {
            self.busy = 0;
            self.patience = (self.patience * 2).min(MAX_PATIENCE);
        }
        overloaded
    }

    /// A slot of the first open connection that is not busy, else of the one with the fewest unanswered requests.
    fn least_busy(&mut self) -> Option<(&mut Http2Connection, Slot)> {
        let mut found: Option<(u32, &mut Http2Connection, Slot)> = None;
        for entry in &mut self.http2 {
            let ConnectionState::Open(connection) = &mut entry.state else { continue };
            let unanswered = entry.slots.unanswered();
            if found.as_ref().is_some_and(|(least, ..)| *least < BUSY || *least <= unanswered) {
                continue;
            }
            if let Some(slot) = entry.slots.try_acquire()
                && connection.is_ready(&entry.slots)
            {
                found = Some((unanswered, connection, slot));
            }
        }
        found.map(|(_, connection, slot)| (connection, slot))
    }

    /// A slot of a connection that is being opened.
    fn connecting(&self) -> Option<(Connecting<B>, Slot)> {
        self.http2.iter().find_map(|entry| match &entry.state {
            ConnectionState::Connecting(connecting) => Some((connecting.clone(), entry.slots.try_acquire()?)),
            ConnectionState::Open(_) => None,
        })
    }

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
