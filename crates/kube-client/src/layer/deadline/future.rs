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
        limits: Limits,
        // Made when somebody has to wait for the first time; the body goes on with it.
        timer: Option<Pin<Box<Sleep>>>,
        started: Instant,
    }
}

impl<F> DeadlineFuture<F> {
    pub(super) fn new(inner: F, limits: Limits) -> Self {
        Self { inner, limits, timer: None, started: Instant::now() }
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
            let (limits, started, timer) = (*this.limits, *this.started, this.timer.take());
            return Poll::Ready(match answer {
                Ok(response) => {
                    let version = response.version();
                    Ok(response.map(|body| DeadlineBody::new(body, version, limits, started, timer)))
                }
                Err(err) => Err(err.into()),
            });
        }
        let Some(limit) = this.limits.head else { return Poll::Pending };
        let end = *this.started + limit;
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(timed_out(format!("the server did not answer within {limit:?}"))))
    }
}

pub(super) fn timed_out(err: impl Into<BoxError>) -> BoxError {
    io::Error::new(io::ErrorKind::TimedOut, err).into()
}
