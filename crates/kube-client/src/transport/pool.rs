//! The connections to one server, and which of them a request takes.

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

use super::Spawn;
use super::http1::{Connector, Http1, keeping};
use super::http2::{Connection, Exchange, Line, Place, ROOM};

/// Sends requests over the first HTTP/2 connection that has room, and makes another one when none has.
///
/// An API server takes 100 requests at a time on a connection, and every watch is one. On a single connection the next one would
/// wait until a watch ends, which may be never.
///
/// Whether it is HTTP/2 is the server's choice; with HTTP/1.1 there is a connection for each request under way.
///
/// When the epoch changes, no request goes to the connections of the one before; those that are under way there end in peace.
pub(super) struct Pool<B> {
    server: Uri,
    /// Makes connections on which the server may choose HTTP/2.
    connector: Connector,
    /// Makes more of them when it did not.
    http1_connector: Connector,
    spawn: Spawn,
    epoch: Box<dyn Fn() -> u64 + Send + Sync>,
    members: Mutex<Members<B>>,
}

struct Members<B> {
    epoch: u64,
    /// Set when the server chose HTTP/1.1, until an exchange breaks off and no other one is well: then it is asked again.
    http1: Option<Arc<Http1<B>>>,
    list: Vec<Member<B>>,
    /// How many requests the server takes at a time on a connection, as far as is known.
    room: u32,
}

impl<B> Members<B> {
    fn none_yet(epoch: u64) -> Self {
        Self { epoch, http1: None, list: Vec::new(), room: ROOM }
    }
}

struct Member<B> {
    line: Arc<Line>,
    link: Link<B>,
}

enum Link<B> {
    Opening(Opening<B>),
    Open(Connection),
}

/// A connection that is being made. All who wait for it drive it; when the last one goes, it stops.
pub(super) type Opening<B> = Shared<BoxFuture<'static, Result<Opened<B>, NotOpened>>>;

pub(super) enum Opened<B> {
    Http2(Connection),
    Http1(Arc<Http1<B>>),
}

impl<B> Clone for Opened<B> {
    fn clone(&self) -> Self {
        match self {
            Self::Http2(connection) => Self::Http2(connection.clone()),
            Self::Http1(client) => Self::Http1(Arc::clone(client)),
        }
    }
}

/// Which way a request goes.
pub(super) enum Way<B> {
    Sent(Exchange),
    Http1(Arc<Http1<B>>, Request<B>),
    /// When it is open, ask again; the place is held until then.
    Opening(Opening<B>, Place, Request<B>),
}

impl<B> Pool<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Makes the first connection when it is needed.
    pub(super) fn new(
        server: Uri,
        [connector, http1_connector]: [Connector; 2],
        spawn: Spawn,
        epoch: Box<dyn Fn() -> u64 + Send + Sync>,
    ) -> Self {
        let members = Mutex::new(Members::none_yet(epoch()));
        Self { server, connector, http1_connector, spawn, epoch, members }
    }

    /// Sends the request if a connection is there for it.
    pub(super) fn send(&self, request: Request<B>) -> Way<B> {
        let epoch = (self.epoch)();
        let mut members = self.members();
        if epoch != members.epoch {
            *members = Members::none_yet(epoch);
        }
        members.settle();
        if let Some(client) = &members.http1 {
            return Way::Http1(Arc::clone(client), request);
        }
        for member in &mut members.list {
            let Some(place) = member.line.take() else { continue };
            match &mut member.link {
                Link::Opening(opening) => return Way::Opening(opening.clone(), place, request),
                Link::Open(connection) => {
                    if connection.is_ready(&member.line) {
                        return Way::Sent(connection.send(request, place));
                    }
                }
            }
        }
        let line = Arc::new(Line::new(members.room));
        let place = line.take().expect("invariant: a new line has room");
        let opening = self.open(Arc::clone(&line));
        members.list.push(Member { line, link: Link::Opening(opening.clone()) });
        Way::Opening(opening, place, request)
    }

    fn members(&self) -> MutexGuard<'_, Members<B>> {
        // Only whole members are ever in the list, so a panic elsewhere leaves it usable.
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, line: Arc<Line>) -> Opening<B> {
        let connecting = self.connector.clone().oneshot(self.server.clone()).boxed();
        let (http1_connector, spawn) = (self.http1_connector.clone(), Arc::clone(&self.spawn));
        let opening = async move {
            let io = connecting.await.map_err(NotOpened::of)?;
            if !io.connected().is_negotiated_h2() {
                return Ok(Opened::Http1(Arc::new(keeping(io, http1_connector, &spawn))));
            }
            let connection = Connection::open(TokioIo::new(io), line, &spawn).await;
            connection.map(Opened::Http2).map_err(NotOpened::of)
        };
        opening.boxed().shared()
    }
}

impl<B> Members<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Notes what has become of connections that were being made, and leaves out those that are no more.
    fn settle(&mut self) {
        let Self { http1, list, room, .. } = self;
        http1.take_if(|client| client.broke_off());
        list.retain_mut(|member| {
            let Link::Opening(opening) = &member.link else { return !member.line.is_closed() };
            match opening.peek() {
                Some(Ok(Opened::Http2(connection))) => {
                    *room = member.line.room();
                    member.link = Link::Open(connection.clone());
                    true
                }
                Some(Ok(Opened::Http1(client))) => {
                    *http1 = Some(Arc::clone(client));
                    false
                }
                Some(Err(_)) => false,
                // If nobody waits any more, it stands still; who came to it now would find its time run out.
                None => opening.strong_count().is_some_and(|holders| holders > 1),
            }
        });
    }
}

/// Why there is no connection; shared by all who waited for it.
#[derive(Clone, Debug)]
pub(super) struct NotOpened(Arc<dyn std::error::Error + Send + Sync>);

impl NotOpened {
    fn of(err: BoxError) -> Self {
        Self(err.into())
    }
}

impl fmt::Display for NotOpened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for NotOpened {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}
