use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;
use tracing::Span;
use tracing::field::Empty;

use super::TraceFuture;

/// The service of [`TraceLayer`](super::TraceLayer).
#[derive(Clone, Debug)]
pub(crate) struct Trace<S> {
    pub(super) inner: S,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Trace<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    S::Error: std::fmt::Display,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = TraceFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let span = span(&request);
        let sent = {
            let _entered = span.enter();
            tracing::trace!("requesting");
            self.inner.call(request)
        };
        TraceFuture::new(sent, span)
    }
}

/// Credentials stand in headers only, so method and URL can be shown.
fn span<B>(request: &Request<B>) -> Span {
    let span = tracing::debug_span!(
        "HTTP",
        http.request.method = %request.method(),
        url.full = %request.uri(),
        url.path = request.uri().path(),
        http.response.status_code = Empty,
        "error.type" = Empty,
        otel.name = Empty,
        otel.kind = "client",
        otel.status_code = Empty,
        otel.status_description = Empty,
    );
    // The verb that the request was built for says more than its HTTP method.
    match request.extensions().get::<&'static str>() {
        Some(verb) => span.record("otel.name", verb),
        None => span.record("otel.name", tracing::field::display(format_args!("HTTP {}", request.method()))),
    };
    span
}
