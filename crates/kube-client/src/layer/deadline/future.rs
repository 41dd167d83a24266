use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};
use tower::BoxError;

use super::DeadlineBody;
use super::limits::Limits;

pin_project! {
    /// The future of [`Deadline`](super::Deadline).
    #[derive(Debug)]
    pub struct DeadlineFuture<F> {
        #[pin]
        inner: F,
        #[pin]
        head: Option<Sleep>,
        limits: Limits,
        started: Instant,
    }
}

impl<F> DeadlineFuture<F> {
    pub(super) fn new(inner: F, limits: Limits) -> Self {
        let started = Instant::now();
        let head = limits.head.map(|limit| tokio::time::sleep_until(started + limit));
        Self { inner, head, limits, started }
    }
}

impl<F, B, E> Future for DeadlineFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response<DeadlineBody<B>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(answer) = this.inner.poll(cx) {
            let (limits, started) = (*this.limits, *this.started);
            return Poll::Ready(match answer {
                Ok(response) => Ok(response.map(|body| DeadlineBody::new(body, limits, started))),
                Err(err) => Err(err.into()),
            });
        }
        match this.head.as_pin_mut() {
            Some(head) => ready!(head.poll(cx)),
            None => return Poll::Pending,
        }
        let limit = this.limits.head.unwrap_or_default();
        Poll::Ready(Err(timed_out(format!("the server did not answer within {limit:?}"))))
    }
}

pub(super) fn timed_out(text: String) -> BoxError {
    io::Error::new(io::ErrorKind::TimedOut, text).into()
}
