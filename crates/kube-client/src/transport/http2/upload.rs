//! The bodies of requests.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use h2::{Reason, SendStream};
use http_body::{Body, Frame};
use tower::BoxError;

/// The rest of a body, which goes on while the answer is waited for and read.
pub(super) type Upload = BoxFuture<'static, ()>;

/// Goes on with it.
pub(super) fn poll(upload: &mut Option<Upload>, cx: &mut Context<'_>) {
    if upload.as_mut().is_some_and(|upload| upload.poll_unpin(cx).is_ready()) {
        *upload = None;
    }
}

/// Sends what is there of a body. Gives it back if there is more to come.
///
/// What was not sent yet lies in memory anyway, so the server's window does not matter for it here.
pub(super) fn begin<B>(mut body: B, stream: &mut SendStream<Bytes>) -> Option<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    match Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(frame) => pass_on(frame, &body, stream).then_some(body),
        Poll::Pending => Some(body),
    }
}

/// Sends the rest as fast as the server takes it.
pub(super) async fn finish<B>(mut body: B, mut stream: SendStream<Bytes>)
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    loop {
        let sent = poll_fn(|cx| {
            // A server that wants no more of it says so while we wait for either.
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
            Poll::Ready(pass_on(frame, &body, &mut stream))
        });
        if !sent.await {
            return;
        }
    }
}

/// Whether there is more to come. An error here means that the stream is over: whoever waits for the answer is told.
fn pass_on<B: Body>(
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
            tracing::debug!(error = %err.into(), "the body of a request broke off");
            stream.send_reset(Reason::CANCEL);
            false
        }
        None => {
            let _ = stream.send_data(Bytes::new(), true);
            false
        }
    }
}
