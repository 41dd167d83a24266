//! The body of a response over HTTP/1.1.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tower::BoxError;

use super::health::InFlight;

/// A response body. Dropping it early closes the connection.
pub(crate) struct Http1Body {
    body: Incoming,
    in_flight: InFlight,
    /// Holds the connection, and makes it idle when the body has ended.
    release: Option<Release>,
}

pub(super) type Release = Box<dyn FnOnce() + Send>;

impl Http1Body {
    pub(super) fn new(body: Incoming, mut in_flight: InFlight, release: Release) -> Self {
        in_flight.received();
        let mut this = Self { body, in_flight, release: Some(release) };
        this.check_end();
        this
    }

    fn check_end(&mut self) {
        if self.body.is_end_stream() {
            self.end();
        }
    }

    fn end(&mut self) {
        self.in_flight.complete();
        if let Some(release) = self.release.take() {
            release();
        }
    }
}

impl Body for Http1Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Err(_)) => self.in_flight.fail(),
            Some(Ok(_)) => {
                self.in_flight.received();
                self.check_end();
            }
            None => {
                self.in_flight.received();
                self.end();
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
