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
}

impl Http1Body {
    pub(super) fn new(body: Incoming, mut in_flight: InFlight) -> Self {
        in_flight.received();
        let mut this = Self { body, in_flight };
        this.check_end();
        this
    }

    fn check_end(&mut self) {
        if self.body.is_end_stream() {
            self.in_flight.complete();
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
                self.in_flight.complete();
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
