//! The response body of a stream.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tower::BoxError;

use super::error::{explain, truncated};
use super::streams::OpenStream;

/// A response body. Dropping it early resets the stream.
pub(crate) struct Http2Body(State);

enum State {
    Open(Incoming, OpenStream),
    /// Finds out why the body is incomplete.
    Failing(BoxFuture<'static, BoxError>),
    Ended,
}

impl Http2Body {
    pub(super) fn new(body: Incoming, stream: OpenStream) -> Self {
        // A response to HEAD has a content-length and no body.
        Self(if body.is_end_stream() { State::Ended } else { State::Open(body, stream) })
    }
}

impl Body for Http2Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let State::Open(body, _) = &mut self.0 {
            match ready!(Pin::new(&mut *body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if body.is_end_stream() {
                        self.0 = State::Ended
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Some(Err(err)) => {
                    if let State::Open(_, stream) = std::mem::replace(&mut self.0, State::Ended) {
                        self.0 = State::Failing(explain(err, stream).boxed());
                    }
                }
                None => {
                    // hyper takes a reset with NO_ERROR for the end, which it is after a complete response only (RFC 9113, 8.1).
                    let whole = matches!(body.size_hint().exact(), None | Some(0));
                    self.0 = State::Ended;
                    return Poll::Ready((!whole).then(|| Err(truncated())));
                }
            }
        }
        if let State::Failing(explaining) = &mut self.0 {
            let err = ready!(explaining.poll_unpin(cx));
            self.0 = State::Ended;
            return Poll::Ready(Some(Err(err)));
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, State::Ended)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            State::Open(body, _) => body.size_hint(),
            State::Failing(_) => SizeHint::default(),
            State::Ended => SizeHint::with_exact(0),
        }
    }
}
