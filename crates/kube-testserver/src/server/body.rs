use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http_body::{Frame, SizeHint};

use crate::watch::Watch;

/// The body of a response: complete at once, or the endless lines of a watch.
pub struct Body(Inner);

enum Inner {
    Whole(Option<Bytes>),
    Lines(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Whole(Some(bytes.into()).filter(|bytes: &Bytes| !bytes.is_empty())))
    }

    /// The JSON document that this is, unless it is a stream or something else.
    pub(super) fn document(&self) -> Option<serde_json::Value> {
        match &self.0 {
            Inner::Whole(bytes) => serde_json::from_slice(bytes.as_deref()?).ok(),
            Inner::Lines(_) => None,
        }
    }

    pub(super) fn lines(watch: Watch) -> Self {
        let lines = futures::stream::unfold(watch, async |mut watch| Some((watch.next().await?, watch)));
        Self(Inner::Lines(lines.fuse().boxed()))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Inner::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Lines(lines) => {
                lines.as_mut().poll_next(cx).map(|line| line.map(|line| Ok(Frame::data(line))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Inner::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Inner::Lines(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0 {
            Inner::Whole(_) => "whole",
            Inner::Lines(_) => "lines",
        };
        f.debug_tuple("Body").field(&kind).finish()
    }
}
