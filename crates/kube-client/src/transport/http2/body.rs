//! The response body of a stream.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::{Reason, RecvStream};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::{Body, Frame, SizeHint};
use tower::BoxError;

use super::error::{explain, truncated};
use super::streams::OpenStream;
use super::upload::{self, Upload};

/// A response body. Dropping it early resets the stream.
pub(crate) struct Http2Body {
    data: RecvStream,
    /// The bytes still to come, if the response has a content-length.
    remaining: Option<u64>,
    ended: bool,
    upload: Option<Upload>,
    stream: OpenStream,
}

impl Http2Body {
    pub(super) fn new(
        headers: &HeaderMap,
        data: RecvStream,
        upload: Option<Upload>,
        stream: OpenStream,
    ) -> Self {
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let ended = data.is_end_stream();
        // A response to HEAD has a content-length and no body.
        Self { data, remaining: length.filter(|_| !ended), ended, upload, stream }
    }
}

impl Body for Http2Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if this.ended {
            return Poll::Ready(None);
        }
        upload::poll(&mut this.upload, cx);
        match ready!(this.data.poll_data(cx)) {
            Some(Ok(data)) => {
                // An error means that the stream has ended, which the next read reports.
                let _ = this.data.flow_control().release_capacity(data.len());
                this.remaining = this.remaining.map(|remaining| remaining.saturating_sub(data.len() as u64));
                this.ended = this.data.is_end_stream();
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            Some(Err(err)) => {
                this.ended = true;
                // After a complete response, a server that needs no more of the request body resets with NO_ERROR (RFC 9113, 8.1).
                let ended = err.is_reset() && err.is_remote() && err.reason() == Some(Reason::NO_ERROR);
                return Poll::Ready(match (ended, this.remaining) {
                    // Without a content-length, only decoding shows whether it was complete.
                    (true, None | Some(0)) => None,
                    (true, Some(_)) => Some(Err(truncated())),
                    (false, _) => Some(Err(explain(err, this.stream.connection()))),
                });
            }
            None => {}
        }
        let trailers = ready!(this.data.poll_trailers(cx));
        this.ended = true;
        Poll::Ready(match trailers {
            Ok(trailers) => trailers.map(|trailers| Ok(Frame::trailers(trailers))),
            Err(err) => Some(Err(explain(err, this.stream.connection()))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        match self.remaining {
            Some(remaining) => SizeHint::with_exact(remaining),
            None if self.ended => SizeHint::with_exact(0),
            None => SizeHint::default(),
        }
    }
}
