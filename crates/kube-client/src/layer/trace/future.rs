use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tracing::Span;

pin_project! {
    /// The future of [`Trace`](super::Trace): notes in the span how the request went.
    #[derive(Debug)]
    pub struct TraceFuture<F> {
        #[pin]
        inner: F,
        span: Span,
        started: Instant,
    }
}

impl<F> TraceFuture<F> {
    pub(super) fn new(inner: F, span: Span) -> Self {
        Self { inner, span, started: Instant::now() }
    }
}

impl<F, ResBody, E> Future for TraceFuture<F>
where
    F: Future<Output = Result<Response<ResBody>, E>>,
    E: Display,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let _entered = this.span.enter();
        let result = ready!(this.inner.poll(cx));
        let took = this.started.elapsed();
        match &result {
            Ok(response) => {
                let status = response.status();
                this.span.record("http.response.status_code", status.as_u16());
                if status.is_client_error() || status.is_server_error() {
                    this.span.record("otel.status_code", "ERROR");
                    this.span.record("error.type", status.as_u16());
                }
                tracing::trace!(status = status.as_u16(), ?took, "answered");
            }
            Err(err) => {
                this.span.record("otel.status_code", "ERROR");
                this.span.record("error.type", "transport");
                this.span.record("otel.status_description", tracing::field::display(err));
                tracing::debug!(error = %err, ?took, "failed");
            }
        }
        Poll::Ready(result)
    }
}
