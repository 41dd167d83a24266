//! What arrives of an answer.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::{Reason, RecvStream};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::{Body, Frame, SizeHint};
use tower::BoxError;

use super::error::explain;
use super::line::Place;
use super::upload::{self, Upload};

/// The body of an answer. To drop it before its end tells the server to stop.
pub(crate) struct Incoming {
    stream: RecvStream,
    /// What is still to come, if the server said so.
    left: Option<u64>,
    over: bool,
    upload: Option<Upload>,
    place: Place,
}

impl Incoming {
    pub(super) fn new(headers: &HeaderMap, stream: RecvStream, upload: Option<Upload>, place: Place) -> Self {
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let over = stream.is_end_stream();
        // An answer to HEAD tells a length and has no body.
        Self { stream, left: length.filter(|_| !over), over, upload, place }
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if this.over {
            return Poll::Ready(None);
        }
        upload::poll(&mut this.upload, cx);
        match ready!(this.stream.poll_data(cx)) {
            Some(Ok(data)) => {
                // What has been handed out makes room for more. An error means that the stream is over, and the next read says so.
                let _ = this.stream.flow_control().release_capacity(data.len());
                this.left = this.left.map(|left| left.saturating_sub(data.len() as u64));
                this.over = this.stream.is_end_stream();
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            Some(Err(err)) => {
                this.over = true;
                // A server that needs no more of the request ends it like this after a whole answer (RFC 9113, 8.1).
                let whole = err.is_reset() && err.is_remote() && err.reason() == Some(Reason::NO_ERROR);
                return Poll::Ready((!whole).then(|| Err(explain(err, this.place.line()))));
            }
            None => {}
        }
        let trailers = ready!(this.stream.poll_trailers(cx));
        this.over = true;
        Poll::Ready(match trailers {
            Ok(trailers) => trailers.map(|trailers| Ok(Frame::trailers(trailers))),
            Err(err) => Some(Err(explain(err, this.place.line()))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.over
    }

    fn size_hint(&self) -> SizeHint {
        match self.left {
            Some(left) => SizeHint::with_exact(left),
            None if self.over => SizeHint::with_exact(0),
            None => SizeHint::default(),
        }
    }
}
