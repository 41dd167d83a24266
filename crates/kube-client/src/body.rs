//! [`Body`]: the body of requests and responses.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use tower::BoxError;

use crate::config::DEFAULT_COLLECT_LIMIT;
use crate::error::Error;
use crate::received_bytes::ReceivedBytes;

/// The body of a request or a response: complete bytes, or a stream of them.
///
/// ```
/// use kube_client::client::Body;
/// let body = Body::from(b"hello".to_vec());
/// assert!(body.try_clone().is_some());
/// ```
pub struct Body {
    kind: Kind,
    /// The most bytes that [`Body::collect_bytes`] collects, and of one object of a list or watch.
    limit: usize,
    /// Counts the bytes that are read.
    received: Option<ReceivedBytes>,
}

enum Kind {
    /// `None` after its only frame was returned, or if it is empty.
    Complete(Option<Bytes>),
    Stream(UnsyncBoxBody<Bytes, Error>),
}

impl Body {
    const fn new(kind: Kind) -> Self {
        Self { kind, limit: DEFAULT_COLLECT_LIMIT, received: None }
    }

    /// The same body, of which at most `limit` bytes are collected.
    pub(crate) fn with_collect_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// The most bytes of one object in it.
    pub(crate) fn collect_limit(&self) -> usize {
        self.limit
    }

    /// The same body, whose bytes are counted.
    pub(crate) fn counted(self, received: Option<ReceivedBytes>) -> Self {
        Self { received, ..self }
    }

    /// A body without bytes.
    pub const fn empty() -> Self {
        Self::new(Kind::Complete(None))
    }

    /// A second body that shares the bytes; `None` for a stream, which can be read only once.
    pub fn try_clone(&self) -> Option<Self> {
        match &self.kind {
            Kind::Complete(bytes) => {
                Some(Self { kind: Kind::Complete(bytes.clone()), received: self.received.clone(), ..*self })
            }
            Kind::Stream(_) => None,
        }
    }

    /// Reads the body to its end. Copies nothing if the bytes are complete or arrive in one frame.
    ///
    /// The body of a response may have at most as many bytes as the client's `collect_limit` (256 MiB by default).
    ///
    /// # Errors
    /// The error of the stream, and [`Error::Service`] for a body that is larger than the limit.
    pub async fn collect_bytes(mut self) -> Result<Bytes, Error> {
        if let Kind::Complete(bytes) = self.kind {
            let bytes = bytes.unwrap_or_default();
            count(self.received.as_ref(), &bytes);
            return Ok(bytes);
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
                    let mut buffer =
                        Vec::with_capacity(first.len() + data.len() + expected.min(MAX_PREALLOCATION));
                    buffer.extend_from_slice(&first);
                    buffer.extend_from_slice(&data);
                    rest = Some(buffer);
                }
            }
        }
        Ok(rest.map_or(first, Bytes::from))
    }

    /// A body that reads from another one.
    pub(crate) fn wrap<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::new(Kind::Stream(body.map_err(|err| from_transport(err.into())).boxed_unsync()))
    }
}

fn count(received: Option<&ReceivedBytes>, data: &Bytes) {
    if let Some(received) = received {
        received.add(data.len());
    }
}

/// A copy of a request; `None` if its body is a stream.
pub(crate) fn try_clone_request(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    copy.headers_mut().clone_from(request.headers());
    *copy.extensions_mut() = request.extensions().clone();
    Some(copy)
}

#[derive(Debug, thiserror::Error)]
#[error(
    "the response has more than {0} bytes, the most that are collected (`collect_limit` of the configuration)"
)]
struct TooLarge(usize);

/// Most bytes that are allocated in advance for a `Content-Length`, which a server can set to anything.
const MAX_PREALLOCATION: usize = 8 << 20;

/// Finds the variant of [`Error`] for the boxed error of a layer.
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
    /// Shows the size and not the content, which may be a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::Complete(bytes) => write!(f, "Body({} bytes)", bytes.as_ref().map_or(0, Bytes::len)),
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
        Self::new(Kind::Complete(Some(bytes).filter(|bytes| !bytes.is_empty())))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let polled = match &mut self.kind {
            Kind::Complete(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Stream(stream) => Pin::new(stream).poll_frame(cx),
        };
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            count(self.received.as_ref(), data);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Complete(bytes) => bytes.is_none(),
            Kind::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Complete(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Stream(stream) => stream.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::StreamBody;

    use super::*;

    fn stream(frames: &'static [&'static str]) -> Body {
        let frames =
            frames.iter().map(|text| Ok::<_, BoxError>(Frame::data(Bytes::from_static(text.as_bytes()))));
        Body::wrap(StreamBody::new(futures::stream::iter(frames)))
    }

    #[tokio::test]
    async fn read_bytes_are_counted() {
        for body in [Body::from(b"abcde".to_vec()), stream(&["ab", "", "cde"])] {
            let received = ReceivedBytes::default();
            body.counted(Some(received.clone())).collect_bytes().await.unwrap();
            assert_eq!(received.get(), 5);
        }
        let received = ReceivedBytes::default();
        let mut body = stream(&["ab", "cde"]).counted(Some(received.clone()));
        body.frame().await.unwrap().unwrap();
        assert_eq!(received.get(), 2, "as it is read");
    }

    #[tokio::test]
    async fn frames_are_joined_in_order() {
        assert_eq!(stream(&["ab", "", "cd", "e"]).collect_bytes().await.unwrap(), "abcde");
        assert_eq!(stream(&["one"]).collect_bytes().await.unwrap(), "one");
        assert_eq!(stream(&[]).collect_bytes().await.unwrap(), "");
        assert_eq!(Body::from(b"whole".to_vec()).collect_bytes().await.unwrap(), "whole");
        assert_eq!(Body::empty().collect_bytes().await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_body_larger_than_the_limit_is_an_error() {
        let limited = |frames, limit| stream(frames).with_collect_limit(limit).collect_bytes();
        assert_eq!(limited(&["ab", "cd"], 4).await.unwrap(), "abcd");
        for frames in [&["ab", "cd", "e"][..], &["abcde"]] {
            let err = limited(frames, 4).await.unwrap_err();
            let cause = std::error::Error::source(&err).unwrap().to_string();
            assert!(cause.contains("more than 4 bytes"), "{cause}");
        }
        let endless =
            futures::stream::repeat_with(|| Ok::<_, BoxError>(Frame::data(Bytes::from(vec![0; 1 << 20]))));
        assert!(Body::wrap(StreamBody::new(endless)).collect_bytes().await.is_err());
    }

    #[tokio::test]
    async fn only_a_complete_body_can_be_cloned() {
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
