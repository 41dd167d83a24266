//! One HTTP/2 connection and the requests over it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use http::{Request, Response, Version};
use http_body::Body;
use hyper::client::conn::http2::{Builder, Connection, SendRequest};
use hyper::rt::{Executor, Read, Write};
use hyper_util::rt::TokioTimer;
use tokio::sync::oneshot;
use tower::BoxError;

use super::body::Http2Body;
use super::error::{explain, unresponsive};
use super::settings::ConnectionExecutor;
use super::streams::{Closed, OpenStream, Streams};
use crate::transport::executor::SharedExecutor;
use crate::transport::extensions::NegotiatedVersion;

/// Flow-control window of a stream: the server sends no more until the reader has taken some of it.
const STREAM_WINDOW: u32 = 2 << 20;

/// Flow-control window of the connection. When unread data fills it, every stream of the connection stalls: so it holds several
/// responses that a program leaves unread for a while, and still bounds the memory.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * 8;

/// SETTINGS_MAX_HEADER_LIST_SIZE. API servers send a few hundred bytes, and up to 4 KiB of warnings.
const MAX_HEADER_LIST: u32 = 16 << 10;

/// SETTINGS_MAX_FRAME_SIZE. The default of 16 KiB splits each large object into several frames, and each one wakes the reader; a
/// much larger one would delay small responses behind large ones.
const MAX_FRAME: u32 = 256 << 10;

/// The limit on streams that hyper reports until the server's SETTINGS have arrived.
const SETTINGS_PENDING: usize = usize::MAX - 1;

/// A ping is sent after this time without data.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// All requests of a connection fail if a ping is not acknowledged for this long.
const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest time until a dead connection is detected.
pub(super) const DETECTION_TIME: Duration = PING_INTERVAL.saturating_add(PING_TIMEOUT);

/// A connection that had no stream for this long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// An open connection. It closes when all handles are dropped and the last response has been read, or when the server closes it.
pub(in crate::transport) struct Http2Connection<B>(SendRequest<B>);

impl<B> Clone for Http2Connection<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Why a request has no response.
pub(in crate::transport) enum SendError<B> {
    /// The connection closed before the request was sent.
    Unsent(Request<B>, OpenStream),
    Failed(BoxError),
}

impl<B> Http2Connection<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Performs the handshake over `io` and waits for the server's SETTINGS: the server refuses requests beyond its limit on
    /// concurrent streams. `streams` is closed when the connection accepts no more requests.
    pub(in crate::transport) async fn open<T>(
        io: T,
        streams: Arc<Streams>,
        executor: &SharedExecutor,
    ) -> Result<Self, BoxError>
    where
        T: Read + Write + Send + Unpin + 'static,
    {
        let tasks = ConnectionExecutor::new(executor.clone());
        let (sender, connection) = Builder::new(tasks.clone())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .max_frame_size(MAX_FRAME)
            .max_header_list_size(MAX_HEADER_LIST)
            .initial_max_send_streams(SETTINGS_PENDING)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(io)
            .await?;
        let (settings_received, settings_arrived) = oneshot::channel();
        executor.execute(drive(connection, tasks, Arc::clone(&streams), settings_received));
        // Otherwise the connection has ended, and `streams` is closed and holds the reason.
        if settings_arrived.await.is_err() && matches!(streams.closed(), Some(Closed::Unresponsive)) {
            return Err(unresponsive());
        }
        Ok(Self(sender))
    }

    /// Sends a request. Dropping the returned future resets the stream.
    pub(in crate::transport) fn send(
        &self,
        request: Request<B>,
        stream: OpenStream,
    ) -> impl Future<Output = Result<Response<Http2Body>, SendError<B>>> + Send + use<B> {
        NegotiatedVersion::record(&request, Version::HTTP_2);
        let response = self.0.clone().try_send_request(request);
        async move {
            match response.await {
                Ok(response) => Ok(response.map(|body| Http2Body::new(body, stream))),
                Err(mut err) => Err(match err.take_message() {
                    Some(request) => SendError::Unsent(request, stream),
                    None => SendError::Failed(explain(err.into_error(), stream).await),
                }),
            }
        }
    }
}

/// Sends the requests of the connection until it ends. Signals `settings_received` once the server's SETTINGS have arrived.
async fn drive<T, B>(
    connection: Connection<T, B, ConnectionExecutor>,
    tasks: ConnectionExecutor,
    streams: Arc<Streams>,
    settings_received: oneshot::Sender<()>,
) where
    T: Read + Write + Send + Unpin + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    // Also if this task is dropped, with its runtime.
    let closing = CloseOnDrop(&streams);
    let mut connection = pin!(connection);
    let mut settings_received = Some(settings_received);
    let driving = poll_fn(|cx| {
        if settings_received.is_some() {
            tasks.wake_after_step(cx.waker());
        }
        let polled = connection.as_mut().poll(cx);
        let max = connection.current_max_send_streams();
        if max != SETTINGS_PENDING {
            streams.set_max(max);
            if let Some(settings_received) = settings_received.take() {
                // Fails if the caller of `open` was dropped.
                let _ = settings_received.send(());
            }
        }
        polled
    });
    if let Either::Left((Err(err), _)) = select(driving, pin!(until_idle(&streams))).await {
        let timed_out = err.is_timeout();
        streams.close(if timed_out { Closed::Unresponsive } else { Closed::Failed(Arc::new(err)) });
    }
    drop(closing);
}

/// Returns when the connection has been idle, with `streams` closed.
async fn until_idle(streams: &Streams) {
    loop {
        tokio::time::sleep(IDLE_TIMEOUT).await;
        if streams.close_if_idle() {
            return;
        }
    }
}

struct CloseOnDrop<'a>(&'a Streams);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close(Closed::Ended);
    }
}
