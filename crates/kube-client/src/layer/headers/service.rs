use std::sync::Arc;
use std::task::{Context, Poll};

use http::{HeaderName, HeaderValue, Request};
use tower_service::Service;

/// The service of [`ExtraHeadersLayer`](super::ExtraHeadersLayer).
#[derive(Clone)]
pub struct ExtraHeaders<S> {
    headers: Arc<[(HeaderName, HeaderValue)]>,
    inner: S,
}

impl<S> ExtraHeaders<S> {
    pub(super) fn new(headers: Arc<[(HeaderName, HeaderValue)]>, inner: S) -> Self {
        Self { headers, inner }
    }
}

impl<S, ReqBody> Service<Request<ReqBody>> for ExtraHeaders<S>
where
    S: Service<Request<ReqBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<ReqBody>) -> Self::Future {
        for (name, value) in self.headers.iter() {
            // Added, not set: groups to act as repeat one name.
            request.headers_mut().append(name, value.clone());
        }
        self.inner.call(request)
    }
}
