//! One HTTP/2 connection and the requests over it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{Either, select};
use h2::client::{Builder, SendRequest};
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Response, Version};
use http_body::Body;
use hyper::rt::Executor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tower::BoxError;

use super::body::Http2Body;
use super::error::{explain, unresponsive};
use super::keepalive::run_keepalive;
use super::streams::{Closed, MAX_STREAMS, OpenStream, Streams};
use super::upload;
use crate::transport::executor::SharedExecutor;
use crate::transport::extensions::NegotiatedVersion;

/// Flow-control window of a stream: the server sends no more until the reader has taken some of it.
const STREAM_WINDOW: u32 = 2 << 20;

/// Flow-control window of the connection: that of all streams that may be open. A smaller one would be filled by a few watches or logs that
/// the program leaves unread, and the server could then answer no other request. See `docs/design/waiting-without-polls.md`.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS as u32;

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
    /// concurrent streams. `streams` is closed when the connection accepts no more requests.
    pub(in crate::transport) async fn open<T>(
        io: T,
        streams: Arc<Streams>,
        executor: &SharedExecutor,
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
            .handshake(io)
            .await
            .map_err(|err| explain(err, &streams))?;
        let (settings_received, settings_arrived) = oneshot::channel();
        executor.execute(drive(connection, Arc::clone(&streams), settings_received));
        // Otherwise the connection has ended, and `streams` is closed and holds the reason.
        if settings_arrived.await.is_err() && matches!(streams.closed(), Some(Closed::Unresponsive)) {
            return Err(unresponsive());
        }
        Ok(Self(sender))
    }

    /// Whether the connection accepts a request now. Closes `streams` if it never will again.
    pub(in crate::transport) fn is_ready(&mut self, streams: &Streams) -> bool {
        // A request that finds no capacity uses another connection, so no task needs a wake-up.
        match self.0.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => true,
            Poll::Ready(Err(err)) => {
                streams.close(Closed::Failed(Arc::new(err)));
                false
            }
            Poll::Pending => false,
        }
    }

    /// Sends a request. Dropping the returned future, which reports all errors, resets the stream.
    pub(in crate::transport) fn send<B>(
        &self,
        request: Request<B>,
        stream: OpenStream,
    ) -> impl Future<Output = Result<Response<Http2Body>, BoxError>> + Send + use<B>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        NegotiatedVersion::record(&request, Version::HTTP_2);
        let (head, body) = with_length(request).into_parts();
        let without_body = body.is_end_stream();
        // `SendRequest::poll_ready` waits on the stream that it opened last and would replace the waker of its upload; a clone avoids that.
        let sent = self.0.clone().send_request(Request::from_parts(head, ()), without_body);
        let sent = sent.map(|(response, mut sender)| {
            let rest = if without_body { None } else { upload::begin(body, &mut sender) };
            (response, rest.map(|rest| upload::finish(rest, sender).boxed()))
        });
        async move {
            let (mut response, mut upload) = sent.map_err(|err| explain(err, stream.connection()))?;
            let response = poll_fn(|cx| {
                upload::poll(&mut upload, cx);
                response.poll_unpin(cx)
            });
            let (head, body) = response.await.map_err(|err| explain(err, stream.connection()))?.into_parts();
            let body = Http2Body::new(&head.headers, body, upload, stream);
            Ok(Response::from_parts(head, body))
        }
    }
}

/// Drives the connection until it ends. Signals `settings_received` once the server's SETTINGS have arrived.
async fn drive<T>(
    mut connection: h2::client::Connection<T, Bytes>,
    streams: Arc<Streams>,
    settings_received: oneshot::Sender<()>,
) where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let pings = connection.ping_pong().expect("invariant: the first call returns it");
    let mut settings_received = Some(settings_received);
    let driving = poll_fn(|cx| {
        let polled = connection.poll_unpin(cx);
        let max = connection.max_concurrent_send_streams();
        if max != SETTINGS_PENDING {
            streams.set_max(max);
            if let Some(settings_received) = settings_received.take() {
                // Fails if the caller of `open` was dropped.
                let _ = settings_received.send(());
            }
        }
        polled
    });
    // When either ends, the connection is dropped, which fails all pending responses.
    match select(pin!(driving), pin!(run_keepalive(pings, &streams))).await {
        Either::Left((Err(err), _)) => streams.close(Closed::Failed(Arc::new(err))),
        _ => streams.close(Closed::Ended),
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
