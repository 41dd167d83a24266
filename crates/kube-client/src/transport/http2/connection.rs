//! One HTTP/2 connection and the requests over it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{self, Context, Poll, Waker};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{Either, Ready, ready, select};
use h2::RecvStream;
use h2::client::{self, Builder, SendRequest};
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Response, Version};
use http_body::Body;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tower::BoxError;

use super::body::Http2Body;
use super::error::{explain, unresponsive};
use super::keepalive::run_keepalive;
use super::read_ahead::PausingIo;
use super::slots::{Slot, StreamSlots};
use super::upload::{self, Upload};
use crate::transport::extensions::NegotiatedVersion;
use crate::transport::spawn::Spawn;

/// Flow-control window of a stream: the server sends no more until the reader has taken some of it.
const STREAM_WINDOW: u32 = 2 << 20;

/// Flow-control window of the connection. When unread data fills it, every stream of the connection stalls: so it holds several
/// responses that a program leaves unread for a while, and still bounds the memory.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * 8;

/// SETTINGS_MAX_HEADER_LIST_SIZE. API servers send a few hundred bytes, and up to 4 KiB of warnings.
const MAX_HEADER_LIST: u32 = 16 << 10;

/// The limit on streams that h2 reports until the server's SETTINGS have arrived.
const SETTINGS_PENDING: usize = usize::MAX - 1;

/// SETTINGS_MAX_FRAME_SIZE. The default of 16 KiB splits each large object into several frames, and each one wakes the reader; a
/// much larger one would delay small responses behind large ones.
const MAX_FRAME: u32 = 256 << 10;

/// An open connection. It closes when all handles are dropped and the last response has been read, or when the server closes it.
#[derive(Clone)]
pub(in crate::transport) struct Http2Connection(SendRequest<Bytes>);

impl Http2Connection {
    /// Performs the handshake over `io` and waits for the server's SETTINGS: the server refuses requests beyond its limit on
    /// concurrent streams. `slots` is closed when the connection accepts no more requests.
    pub(in crate::transport) async fn open<T>(
        io: T,
        slots: Arc<StreamSlots>,
        spawn: &Spawn,
    ) -> Result<Self, BoxError>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, connection) = Builder::new()
            .enable_push(false)
            .max_frame_size(MAX_FRAME)
            .max_header_list_size(MAX_HEADER_LIST)
            .initial_max_send_streams(SETTINGS_PENDING)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(PausingIo::new(io, Arc::clone(&slots)))
            .await
            .map_err(|err| explain(err, &slots))?;
        let (settings_received, settings_arrived) = oneshot::channel();
        spawn(drive(connection, Arc::clone(&slots), settings_received).boxed());
        // Otherwise the connection has ended, and `slots` is closed and holds the reason.
        if settings_arrived.await.is_err() && slots.is_unresponsive() {
            return Err(unresponsive());
        }
        Ok(Self(sender))
    }

    /// Whether the connection accepts a request now. Closes `slots` if it never will again.
    pub(in crate::transport) fn is_ready(&mut self, slots: &StreamSlots) -> bool {
        // A request that finds no capacity uses another connection, so no task needs a wake-up.
        match self.0.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => true,
            Poll::Ready(Err(err)) => {
                slots.fail(err);
                false
            }
            Poll::Pending => false,
        }
    }

    /// Sends a request. The returned future reports all errors.
    pub(in crate::transport) fn send<B>(&mut self, request: Request<B>, slot: Slot) -> ResponseFuture
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        slot.connection().mark_sent();
        NegotiatedVersion::record(&request, Version::HTTP_2);
        let (head, body) = with_length(request).into_parts();
        let head = Request::from_parts(head, ());
        if body.is_end_stream() {
            let sent = self.0.send_request(head, true).map(|(response, _)| (response, None));
            return ResponseFuture::new(sent, slot);
        }
        // `SendRequest::poll_ready` waits on the stream that it opened last and would replace the waker of its upload; a clone avoids that.
        let sent = self.0.clone().send_request(head, false).map(|(response, mut stream)| {
            let rest = upload::begin(body, &mut stream);
            (response, rest.map(|rest| upload::finish(rest, stream).boxed()))
        });
        ResponseFuture::new(sent, slot)
    }
}

/// Drives the connection until it ends. Signals `settings_received` once the server's SETTINGS have arrived.
async fn drive<T>(
    mut connection: h2::client::Connection<T, Bytes>,
    slots: Arc<StreamSlots>,
    settings_received: oneshot::Sender<()>,
) where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let pings = connection.ping_pong().expect("invariant: the first call returns it");
    let mut batching = pin!(None);
    let mut settings_received = Some(settings_received);
    let driving = poll_fn(|cx| {
        // A sent request wakes this task at once. While other requests are in flight, more are likely to follow: yielding once
        // lets other tasks add theirs, so that all leave in one write. Received data alone never waits.
        if batching.is_none() && slots.take_concurrent_send() {
            batching.set(Some(yield_now()));
        }
        if let Some(yielded) = batching.as_mut().as_pin_mut() {
            task::ready!(yielded.poll(cx));
        }
        batching.set(None);
        let polled = connection.poll_unpin(cx);
        let max = connection.max_concurrent_send_streams();
        if max != SETTINGS_PENDING {
            slots.set_max(max);
            if let Some(settings_received) = settings_received.take() {
                // Fails if the caller of `open` was dropped.
                let _ = settings_received.send(());
            }
        }
        polled
    });
    // When either ends, the connection is dropped, which fails all pending responses.
    match select(pin!(driving), pin!(run_keepalive(pings, &slots))).await {
        Either::Left((Err(err), _)) => slots.fail(err),
        _ => slots.close(),
    }
}

/// Adds content-length where the method defines a body (RFC 9110, 8.6).
fn with_length<B: Body>(mut request: Request<B>) -> Request<B> {
    let Some(length) = request.body().size_hint().exact() else { return request };
    if length > 0 || matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH) {
        request.headers_mut().entry(CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    request
}

/// The future of a response. Dropping it resets the stream.
pub(crate) struct ResponseFuture {
    response: Either<client::ResponseFuture, Ready<Result<Response<RecvStream>, h2::Error>>>,
    upload: Option<Upload>,
    slot: Option<Slot>,
}

impl ResponseFuture {
    fn new(sent: Result<(client::ResponseFuture, Option<Upload>), h2::Error>, slot: Slot) -> Self {
        let (response, upload) = match sent {
            Ok((response, upload)) => (Either::Left(response), upload),
            Err(err) => (Either::Right(ready(Err(err))), None),
        };
        Self { response, upload, slot: Some(slot) }
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response<Http2Body>, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        upload::poll(&mut self.upload, cx);
        let response = task::ready!(self.response.poll_unpin(cx));
        let mut slot = self.slot.take().expect("a future is not polled after its end");
        slot.answered();
        Poll::Ready(match response {
            Ok(response) => {
                let (head, stream) = response.into_parts();
                let body = Http2Body::new(&head.headers, stream, self.upload.take(), slot);
                Ok(Response::from_parts(head, body))
            }
            Err(err) => Err(explain(err, slot.connection())),
        })
    }
}
