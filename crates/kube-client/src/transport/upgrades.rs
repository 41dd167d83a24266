//! Requests for another protocol go their own way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::UPGRADE;
use http::{Request, Response};
use http_body_util::Either;
use tower_service::Service;

/// Sends requests with an `Upgrade` header through the second service: HTTP/2 has no such thing, and the connection is used up by it.
#[derive(Clone, Debug)]
pub(crate) struct Upgrades<S, U> {
    usual: S,
    upgrading: U,
}

impl<S, U> Upgrades<S, U> {
    pub(crate) fn new(usual: S, upgrading: U) -> Self {
        Self { usual, upgrading }
    }
}

impl<S, U, B, SB, UB> Service<Request<B>> for Upgrades<S, U>
where
    S: Service<Request<B>, Response = Response<SB>>,
    S::Future: Send + 'static,
    U: Service<Request<B>, Response = Response<UB>>,
    U::Future: Send + 'static,
    U::Error: Into<S::Error>,
{
    type Response = Response<Either<SB, UB>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        match self.usual.poll_ready(cx) {
            Poll::Ready(Ok(())) => self.upgrading.poll_ready(cx).map_err(Into::into),
            other => other,
        }
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if request.headers().contains_key(UPGRADE) {
            let sent = self.upgrading.call(request);
            Box::pin(async move { Ok(sent.await.map_err(Into::into)?.map(Either::Right)) })
        } else {
            let sent = self.usual.call(request);
            Box::pin(async move { Ok(sent.await?.map(Either::Left)) })
        }
    }
}
