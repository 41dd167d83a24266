//! Compressed responses: any number of gzip members, whose content is returned as soon as its bytes have arrived.
//!
//! Kubernetes 1.37 ends a member at each event of a watch. `DecompressionLayer` of tower-http reads one member only.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_compression::tokio::bufread::GzipDecoder;
use bytes::Bytes;
use futures::future::MapOk;
use futures::stream::MapErr;
use futures::{Stream, TryFutureExt, TryStreamExt};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::BodyDataStream;
use tokio_util::io::{ReaderStream, StreamReader};
use tower::BoxError;
use tower_layer::Layer;
use tower_service::Service;

use crate::body::Body;

/// Requests gzip and decompresses, unless the request has its own `Accept-Encoding`, as watches without initial events have.
#[derive(Clone, Copy, Debug)]
pub(super) struct GzipLayer {
    pub(super) enabled: bool,
}

impl<S> Layer<S> for GzipLayer {
    type Service = Gzip<S>;

    fn layer(&self, inner: S) -> Gzip<S> {
        Gzip { inner, enabled: self.enabled }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Gzip<S> {
    inner: S,
    enabled: bool,
}

impl<S, B> Service<Request<Body>> for Gzip<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    type Response = Response<Decompressed<B>>;
    type Error = S::Error;
    type Future = MapOk<S::Future, fn(Response<B>) -> Response<Decompressed<B>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let read: fn(Response<B>) -> Response<Decompressed<B>> = match self.enabled {
            true => {
                request.headers_mut().entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("gzip"));
                decompressed
            }
            false => |response| response.map(Decompressed::Plain),
        };
        self.inner.call(request).map_ok(read)
    }
}

/// How much is decompressed at once.
const PIECE: usize = 16 << 10;

fn decompressed<B>(response: Response<B>) -> Response<Decompressed<B>>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    let encoding = response.headers().get(CONTENT_ENCODING);
    let is_gzip = encoding.is_some_and(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"gzip"));
    // The response to a HEAD request has the header too.
    if !is_gzip || response.body().is_end_stream() {
        return response.map(Decompressed::Plain);
    }
    let (mut head, body) = response.into_parts();
    head.headers.remove(CONTENT_ENCODING);
    head.headers.remove(CONTENT_LENGTH);
    let to_io: ToIo<B> = |err| io::Error::other(OfBody(err.into()));
    let mut decoder = GzipDecoder::new(StreamReader::new(BodyDataStream::new(body).map_err(to_io)));
    decoder.multiple_members(true);
    let pieces = Box::pin(ReaderStream::with_capacity(decoder, PIECE));
    Response::from_parts(head, Decompressed::Gzip(pieces))
}

type ToIo<B> = fn(<B as http_body::Body>::Error) -> io::Error;

type Pieces<B> = ReaderStream<GzipDecoder<StreamReader<MapErr<BodyDataStream<B>, ToIo<B>>, Bytes>>>;

/// The body of a response.
pub(super) enum Decompressed<B: http_body::Body<Data = Bytes>> {
    Plain(B),
    Gzip(Pin<Box<Pieces<B>>>),
}

/// An error of the body on its way through a reader.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct OfBody(BoxError);

impl<B> http_body::Body for Decompressed<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            Self::Plain(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Self::Gzip(pieces) => pieces.as_mut().poll_next(cx).map(|piece| {
                piece.map(|piece| {
                    piece.map(Frame::data).map_err(|err| match err.downcast::<OfBody>() {
                        Ok(OfBody(err)) => err,
                        Err(err) => err.into(),
                    })
                })
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Plain(body) => body.is_end_stream(),
            Self::Gzip(_) => false,
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Plain(body) => body.size_hint(),
            Self::Gzip(_) => http_body::SizeHint::default(),
        }
    }
}
