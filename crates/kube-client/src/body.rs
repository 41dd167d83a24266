//! [`Body`]: what requests and answers carry.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use tower::BoxError;

use crate::config::DEFAULT_COLLECT_LIMIT;
use crate::error::Error;

/// The body of a request or an answer: bytes that are all there, or a stream of them.
///
/// ```
/// use kube_client::client::Body;
/// let body = Body::from(b"hello".to_vec());
/// assert!(body.try_clone().is_some());
/// ```
pub struct Body {
    kind: Kind,
    /// How many bytes may be collected of it.
    limit: usize,
}

enum Kind {
    /// Taken when the one frame has been handed out.
    Whole(Option<Bytes>),
    Stream(UnsyncBoxBody<Bytes, Error>),
}

impl Body {
    const fn of(kind: Kind) -> Self {
        Self { kind, limit: DEFAULT_COLLECT_LIMIT }
    }

    /// The same body, of which so many bytes may be collected at most.
    pub(crate) fn with_collect_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// A body without bytes.
    pub const fn empty() -> Self {
        Self::of(Kind::Whole(None))
    }

    /// A second body with the same bytes, sharing them; `None` for a stream, which can be read only once.
    pub fn try_clone(&self) -> Option<Self> {
        match &self.kind {
            Kind::Whole(bytes) => Some(Self { kind: Kind::Whole(bytes.clone()), limit: self.limit }),
            Kind::Stream(_) => None,
        }
    }

    /// Reads the body to its end. Costs no copy if the bytes are all there or come in one piece.
    ///
    /// A body that comes from a server may have so many bytes as the client's `collect_limit` says (256 MiB by default).
    ///
    /// # Errors
    /// What broke the stream, and [`Error::Service`] for a body that is larger than that.
    pub async fn collect_bytes(mut self) -> Result<Bytes, Error> {
        if let Kind::Whole(bytes) = self.kind {
            return Ok(bytes.unwrap_or_default());
        }
        let mut first = Bytes::new();
        let mut rest: Option<Vec<u8>> = None;
        while let Some(frame) = self.frame().await.transpose()? {
            let Ok(data) = frame.into_data() else { continue };
            let collected = rest.as_ref().map_or(first.len(), Vec::len);
            if data.len() > self.limit.saturating_sub(collected) {
                return Err(Error::Service(TooLarge(self.limit).into()));
            }
            match &mut rest {
                Some(buffer) => buffer.extend_from_slice(&data),
                None if first.is_empty() => first = data,
                None => {
                    let expected = usize::try_from(http_body::Body::size_hint(&self).lower()).unwrap_or(0);
                    let mut buffer = Vec::with_capacity(first.len() + data.len() + expected.min(PREALLOCATE));
                    buffer.extend_from_slice(&first);
                    buffer.extend_from_slice(&data);
                    rest = Some(buffer);
                }
            }
        }
        Ok(rest.map_or(first, Bytes::from))
    }

    /// A body read from another one.
    pub(crate) fn wrap<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::of(Kind::Stream(body.map_err(|err| from_transport(err.into())).boxed_unsync()))
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the answer has more than {0} bytes, the most that are collected (`collect_limit` of the configuration)"
)]
struct TooLarge(usize);

/// A server may claim any length; believe it only this far before the bytes are there.
const PREALLOCATE: usize = 8 << 20;

/// The most telling of our errors for one that came up through layers which know none of them.
pub(crate) fn from_transport(err: BoxError) -> Error {
    let err = match err.downcast::<Error>() {
        Ok(own) => return *own,
        Err(err) => err,
    };
    let err = match err.downcast::<crate::auth::AuthError>() {
        Ok(auth) => return Error::Auth(*auth),
        Err(err) => err,
    };
    match err.downcast::<hyper::Error>() {
        Ok(hyper) => Error::HyperError(*hyper),
        Err(err) => Error::Service(err),
    }
}

impl std::fmt::Debug for Body {
    /// Tells the size, not the content: it may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::Whole(bytes) => write!(f, "Body({} bytes)", bytes.as_ref().map_or(0, Bytes::len)),
            Kind::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::of(Kind::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut self.kind {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Stream(stream) => Pin::new(stream).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole(bytes) => bytes.is_none(),
            Kind::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Stream(stream) => stream.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::StreamBody;

    use super::*;

    fn stream(pieces: &'static [&'static str]) -> Body {
        let frames =
            pieces.iter().map(|piece| Ok::<_, BoxError>(Frame::data(Bytes::from_static(piece.as_bytes()))));
        Body::wrap(StreamBody::new(futures::stream::iter(frames)))
    }

    #[tokio::test]
    async fn pieces_are_joined_in_order() {
        assert_eq!(stream(&["ab", "", "cd", "e"]).collect_bytes().await.unwrap(), "abcde");
        assert_eq!(stream(&["one"]).collect_bytes().await.unwrap(), "one");
        assert_eq!(stream(&[]).collect_bytes().await.unwrap(), "");
        assert_eq!(Body::from(b"whole".to_vec()).collect_bytes().await.unwrap(), "whole");
        assert_eq!(Body::empty().collect_bytes().await.unwrap(), "");
    }

    #[tokio::test]
    async fn more_than_the_limit_is_not_collected() {
        let limited = |pieces, limit| stream(pieces).with_collect_limit(limit).collect_bytes();
        assert_eq!(limited(&["ab", "cd"], 4).await.unwrap(), "abcd");
        for pieces in [&["ab", "cd", "e"][..], &["abcde"]] {
            let err = limited(pieces, 4).await.unwrap_err();
            let cause = std::error::Error::source(&err).unwrap().to_string();
            assert!(cause.contains("more than 4 bytes"), "{cause}");
        }
        let endless =
            futures::stream::repeat_with(|| Ok::<_, BoxError>(Frame::data(Bytes::from(vec![0; 1 << 20]))));
        assert!(Body::wrap(StreamBody::new(endless)).collect_bytes().await.is_err());
    }

    #[tokio::test]
    async fn only_what_is_all_there_can_be_cloned() {
        assert!(stream(&["x"]).try_clone().is_none());
        let copy = Body::from(b"x".to_vec()).try_clone().unwrap();
        assert_eq!(copy.collect_bytes().await.unwrap(), "x");
    }

    #[tokio::test]
    async fn a_broken_stream_is_an_error() {
        let frames = [Ok(Frame::data(Bytes::from_static(b"x"))), Err(BoxError::from("cut"))];
        let body = Body::wrap(StreamBody::new(futures::stream::iter(frames)));
        assert!(matches!(body.collect_bytes().await, Err(Error::Service(_))));
    }
}
