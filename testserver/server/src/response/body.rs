//! Response bodies: whole, or a stream of lines.

use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::stream::BoxStream;
use http_body::{Frame, SizeHint};

/// The body of a response: complete, or the lines of a watch. It fails only where a [`Fault`] breaks it.
///
/// [`Fault`]: crate::Fault
pub struct Body(Inner);

enum Inner {
    Whole(Option<Bytes>),
    Lines(Lines),
}

/// A streamed body; items of a watch are whole lines. An error breaks the connection.
pub(crate) type Lines = BoxStream<'static, io::Result<Bytes>>;

impl Body {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Whole(Some(bytes.into()).filter(|bytes: &Bytes| !bytes.is_empty())))
    }

    /// The JSON document of a complete body.
    pub(crate) fn document(&self) -> Option<serde_json::Value> {
        match &self.0 {
            Inner::Whole(bytes) => serde_json::from_slice(bytes.as_deref()?).ok(),
            Inner::Lines(_) => None,
        }
    }

    pub(crate) fn lines(lines: Lines) -> Self {
        Self(Inner::Lines(lines))
    }

    /// The stream of a streamed body; `Err` holds the bytes of a complete one.
    pub(crate) fn into_lines(self) -> Result<Lines, Bytes> {
        match self.0 {
            Inner::Whole(bytes) => Err(bytes.unwrap_or_default()),
            Inner::Lines(lines) => Ok(lines),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut self.0 {
            Inner::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Lines(lines) => {
                lines.as_mut().poll_next(cx).map(|line| line.map(|line| line.map(Frame::data)))
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
