//! One connection.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{self, Context, Poll, Waker};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{Either, Ready, ready, select};
use h2::RecvStream;
use h2::client::{Builder, ResponseFuture, SendRequest};
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Response, Version};
use http_body::Body;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tower::BoxError;

use super::alive::until_useless;
use super::body::Incoming;
use super::error::{explain, silent};
use super::line::{Line, Place};
use super::upload::{self, Upload};
use crate::transport::{Carrier, Spawn};

/// How much of one answer may lie here unread. Beyond it the server waits until it is read.
const STREAM_WINDOW: u32 = 2 << 20;

/// How much of all answers of a connection together may lie here unread. As long as it does, the others on the connection wait: so this
/// is more than the few answers need that a program leaves unread for a while, and yet a bound that memory can bear.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * 8;

/// How large the headers of an answer may be. API servers send a few hundred bytes, and up to 4 KiB of warnings.
const HEADERS: u32 = 16 << 10;

/// Stands for what the server has not said yet.
const UNKNOWN: usize = usize::MAX - 1;

/// How large one frame of an answer may be. The protocol's least of 16 KiB makes several of each large object, and each wakes its
/// reader; much more would hold up small answers behind large ones.
const FRAME: u32 = 256 << 10;

/// An open connection. It ends when nobody holds it and its last answer has been read, or when the server says so.
#[derive(Clone)]
pub(in crate::transport) struct Connection(SendRequest<Bytes>);

impl Connection {
    /// Begins to speak HTTP/2 over `io`, and waits until the server has said how many requests it takes at a time: what is more, it
    /// would refuse. `line` is closed when the connection takes no more requests.
    pub(in crate::transport) async fn open<T>(io: T, line: Arc<Line>, spawn: &Spawn) -> Result<Self, BoxError>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, connection) = Builder::new()
            .enable_push(false)
            .max_frame_size(FRAME)
            .max_header_list_size(HEADERS)
            .initial_max_send_streams(UNKNOWN)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(io)
            .await
            .map_err(|err| explain(err, &line))?;
        let (greeted, greeting) = oneshot::channel();
        spawn(drive(connection, Arc::clone(&line), greeted).boxed());
        // Without a greeting the connection has ended, and its line is closed and knows why.
        if greeting.await.is_err() && line.is_silent() {
            return Err(silent());
        }
        Ok(Self(sender))
    }

    /// Whether it takes one more request now. If it never will again, its line is closed.
    pub(in crate::transport) fn is_ready(&mut self, line: &Line) -> bool {
        // Whoever gets no place here goes elsewhere, so nobody is to be woken.
        match self.0.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => true,
            Poll::Ready(Err(err)) => {
                line.fail(err);
                false
            }
            Poll::Pending => false,
        }
    }

    /// Sends a request. What it could not do is an error of the exchange.
    pub(in crate::transport) fn send<B>(&mut self, request: Request<B>, place: Place) -> Exchange
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        place.line().note_request();
        Carrier::note(&request, Version::HTTP_2);
        let (head, body) = with_length(request).into_parts();
        let head = Request::from_parts(head, ());
        if body.is_end_stream() {
            let sent = self.0.send_request(head, true).map(|(response, _)| (response, None));
            return Exchange::new(sent, place);
        }
        // A sender that is full waits for the stream that it opened last; that one's own wait is not to be disturbed by it.
        let sent = self.0.clone().send_request(head, false).map(|(response, mut stream)| {
            let rest = upload::begin(body, &mut stream);
            (response, rest.map(|rest| upload::finish(rest, stream).boxed()))
        });
        Exchange::new(sent, place)
    }
}

/// Moves the bytes of a connection until it ends. Says when the server has sent its settings.
async fn drive<T>(
    mut connection: h2::client::Connection<T, Bytes>,
    line: Arc<Line>,
    greeted: oneshot::Sender<()>,
) where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let pings = connection.ping_pong().expect("invariant: nobody has taken it before");
    let mut gathering = pin!(None);
    let mut greeted = Some(greeted);
    let moving = poll_fn(|cx| {
        // The first request that comes wakes this task at once. Where others are under way, more are about to come: whoever can go
        // on now does so before, and what they send leaves in one piece. What arrives waits for nobody.
        if gathering.is_none() && line.take_request_in_company() {
            gathering.set(Some(yield_now()));
        }
        if let Some(others) = gathering.as_mut().as_pin_mut() {
            task::ready!(others.poll(cx));
        }
        gathering.set(None);
        let polled = connection.poll_unpin(cx);
        let most = connection.max_concurrent_send_streams();
        if most != UNKNOWN {
            line.limit(most);
            if let Some(greeted) = greeted.take() {
                // Nobody listens if nobody waits for the connection any more.
                let _ = greeted.send(());
            }
        }
        polled
    });
    // Whichever ends first, the connection is dropped with it, and all who wait for an answer are told.
    match select(pin!(moving), pin!(until_useless(pings, &line))).await {
        Either::Left((Err(err), _)) => line.fail(err),
        _ => line.close(),
    }
}

/// Says how long the body is, where it may matter to the server (RFC 9110, 8.6).
fn with_length<B: Body>(mut request: Request<B>) -> Request<B> {
    let Some(length) = request.body().size_hint().exact() else { return request };
    if length > 0 || matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH) {
        request.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    request
}

/// A request under way. To drop it before its end tells the server to stop.
pub(crate) struct Exchange {
    answer: Either<ResponseFuture, Ready<Result<Response<RecvStream>, h2::Error>>>,
    upload: Option<Upload>,
    place: Option<Place>,
}

impl Exchange {
    fn new(sent: Result<(ResponseFuture, Option<Upload>), h2::Error>, place: Place) -> Self {
        let (answer, upload) = match sent {
            Ok((answer, upload)) => (Either::Left(answer), upload),
            Err(err) => (Either::Right(ready(Err(err))), None),
        };
        Self { answer, upload, place: Some(place) }
    }
}

impl Future for Exchange {
    type Output = Result<Response<Incoming>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        upload::poll(&mut self.upload, cx);
        let answer = task::ready!(self.answer.poll_unpin(cx));
        let place = self.place.take().expect("a future is not polled after its end");
        Poll::Ready(match answer {
            Ok(answer) => {
                let (head, stream) = answer.into_parts();
                let body = Incoming::new(&head.headers, stream, self.upload.take(), place);
                Ok(Response::from_parts(head, body))
            }
            Err(err) => Err(explain(err, place.line())),
        })
    }
}
