//! Sending request bodies.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use h2::{Reason, SendStream};
use http_body::{Body, Frame};
use tower::BoxError;

/// Sends the rest of a body while the response is awaited and read.
pub(super) type Upload = BoxFuture<'static, ()>;

/// Drives the upload, and drops it when it is done.
pub(super) fn poll(upload: &mut Option<Upload>, cx: &mut Context<'_>) {
    if upload.as_mut().is_some_and(|upload| upload.poll_unpin(cx).is_ready()) {
        *upload = None;
    }
}

/// Sends the first frame if it is ready. Returns the body if more is to come.
///
/// The frame is in memory already, so it may be queued beyond the server's flow-control window.
pub(super) fn begin<B>(mut body: B, stream: &mut SendStream<Bytes>) -> Option<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    match Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(frame) => send_frame(frame, &body, stream).then_some(body),
        Poll::Pending => Some(body),
    }
}

/// Sends the rest as fast as the server's flow control allows.
pub(super) async fn finish<B>(mut body: B, mut stream: SendStream<Bytes>)
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    loop {
        let sent = poll_fn(|cx| {
            // The server may reset the stream while we wait for capacity or for the body.
            if stream.poll_reset(cx).is_ready() {
                return Poll::Ready(false);
            }
            if stream.capacity() == 0 {
                stream.reserve_capacity(1);
                if !matches!(ready!(stream.poll_capacity(cx)), Some(Ok(_))) {
                    return Poll::Ready(false);
                }
            }
            let frame = ready!(Pin::new(&mut body).poll_frame(cx));
            Poll::Ready(send_frame(frame, &body, &mut stream))
        });
        if !sent.await {
            return;
        }
    }
}

/// Sends one frame; returns whether more is to come. An error of `stream` means that it has ended, which the response future reports.
fn send_frame<B: Body>(
    frame: Option<Result<Frame<Bytes>, impl Into<BoxError>>>,
    body: &B,
    stream: &mut SendStream<Bytes>,
) -> bool {
    match frame {
        Some(Ok(frame)) => match frame.into_data() {
            Ok(data) => {
                let last = body.is_end_stream();
                stream.send_data(data, last).is_ok() && !last
            }
            Err(frame) => {
                let trailers = frame.into_trailers().unwrap_or_default();
                let _ = stream.send_trailers(trailers);
                false
            }
        },
        Some(Err(err)) => {
            tracing::debug!(error = %err.into(), "the request body failed");
            stream.send_reset(Reason::CANCEL);
            false
        }
        None => {
            let _ = stream.send_data(Bytes::new(), true);
            false
        }
    }
}
