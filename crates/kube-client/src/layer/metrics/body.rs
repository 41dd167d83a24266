use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use metrics::histogram;
use pin_project_lite::pin_project;

use super::labels::Labels;
use crate::measure::RESPONSE_SIZE;

pin_project! {
    /// The body of an answer through [`Metrics`](super::Metrics): its size is recorded when it has been read to the end.
    #[derive(Debug)]
    pub struct MetricsBody<B> {
        #[pin]
        inner: B,
        // Taken when the size has been recorded.
        labels: Option<Labels>,
        size: u64,
    }
}

impl<B> MetricsBody<B> {
    pub(super) fn new(inner: B, labels: Option<Labels>) -> Self {
        Self { inner, labels, size: 0 }
    }
}

impl<B: Body> Body for MetricsBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            *this.size += frame.data_ref().map_or(0, Buf::remaining) as u64;
        }
        // Whoever knows that a frame was the last one does not ask for more.
        if (frame.is_none() || this.inner.is_end_stream())
            && let Some(Labels { verb, host }) = this.labels.take()
        {
            histogram!(RESPONSE_SIZE, "verb" => verb, "host" => host).record(*this.size as f64);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
