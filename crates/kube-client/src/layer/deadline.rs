//! Ends a request whose response does not start or falls silent: for servers that keep a connection open and send nothing.

mod body;
mod limits;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Response};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};
use tower::BoxError;
use tower_layer::Layer;
use tower_service::Service;

use self::body::timed_out;
use self::limits::DeadlineLimits;
use super::request_kind::RequestKind;
use crate::config::MAX_DELAY;

pub use self::body::DeadlineBody;

/// Limits the wait for a response's head, and each silence within its body.
///
/// HTTP/2 pings and the TCP user timeout detect dead connections. This layer is for what they cannot detect: a server, or a proxy
/// before it, that keeps the connection alive and never responds. Requests that may be silent for long are exempt:
///
/// | request | until the head | silence within the body |
/// |---|---|---|
/// | `watch` over HTTP/2 | limited | `timeoutSeconds` plus the limit, for the whole body; without `timeoutSeconds`, not limited |
/// | `watch` over HTTP/1.1 | limited | limited, and [`Error::is_idle_watch`](crate::Error::is_idle_watch): a watch without events is silent, too |
/// | with `follow` (logs), or through `proxy` | not limited | not limited |
/// | an upgrade (exec, attach, port-forward) | limited | not limited here; websockets are pinged |
/// | all others | limited | limited |
///
/// The time starts when the request is sent, connecting included, and runs out only while the future or the body is polled. The error
/// is a [`std::io::Error`] of kind `TimedOut`, and the request is dropped.
///
/// ```
/// use std::time::Duration;
/// use kube_client::client::middleware::DeadlineLayer;
/// use tower::{BoxError, Layer, ServiceExt};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let silent = tower::service_fn(|_: http::Request<()>| std::future::pending::<Result<http::Response<String>, BoxError>>());
/// let service = DeadlineLayer::new(Duration::from_millis(10)).layer(silent);
/// let err = service.oneshot(http::Request::new(())).await.err().unwrap();
/// assert_eq!(err.to_string(), "the server did not respond within 10ms");
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DeadlineLayer {
    limit: Option<Duration>,
}

impl DeadlineLayer {
    /// With this limit, or without one. Limits of more than ten years are cut to ten years.
    pub fn new(limit: impl Into<Option<Duration>>) -> Self {
        Self { limit: limit.into().map(|limit| limit.min(MAX_DELAY)) }
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = Deadline<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Deadline::new(inner, self.limit)
    }
}

/// The service of [`DeadlineLayer`].
#[derive(Clone, Debug)]
pub struct Deadline<S> {
    inner: S,
    limit: Option<Duration>,
}

impl<S> Deadline<S> {
    fn new(inner: S, limit: Option<Duration>) -> Self {
        Self { inner, limit }
    }
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Deadline<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<DeadlineBody<ResBody>>;
    type Error = BoxError;
    type Future = DeadlineFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let limits = match self.limit {
            Some(limit) => DeadlineLimits::of(RequestKind::of(&request), limit),
            None => DeadlineLimits::default(),
        };
        DeadlineFuture::new(self.inner.call(request), limits)
    }
}

pin_project! {
    /// The future of [`Deadline`].
    #[derive(Debug)]
    pub struct DeadlineFuture<F> {
        #[pin]
        inner: F,
        limits: DeadlineLimits,
        // Created by the first poll that is pending; the body reuses it.
        timer: Option<Pin<Box<Sleep>>>,
        started: Instant,
    }
}

impl<F> DeadlineFuture<F> {
    fn new(inner: F, limits: DeadlineLimits) -> Self {
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
        if let Poll::Ready(result) = this.inner.poll(cx) {
            let (limits, started, timer) = (*this.limits, *this.started, this.timer.take());
            return Poll::Ready(match result {
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
        Poll::Ready(Err(timed_out(format!("the server did not respond within {limit:?}"))))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::{StreamExt, stream};
    use http::Version;
    use http_body::Frame;
    use http_body_util::{BodyExt, StreamBody};
    use tower::ServiceExt;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(55);

    async fn send(uri: &'static str, head: u64, pauses: &'static [u64]) -> (Result<usize, String>, u64) {
        send_over(Version::HTTP_2, uri, head, pauses).await
    }

    /// Sends a request to a server that sends the head after `head` seconds, a frame after each of `pauses`, and no end.
    async fn send_over(
        version: Version,
        uri: &'static str,
        head: u64,
        pauses: &'static [u64],
    ) -> (Result<usize, String>, u64) {
        let server = tower::service_fn(move |_: Request<()>| async move {
            tokio::time::sleep(Duration::from_secs(head)).await;
            let frames = stream::iter(pauses).then(|pause| async move {
                tokio::time::sleep(Duration::from_secs(*pause)).await;
                Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"x")))
            });
            let body = StreamBody::new(Box::pin(frames.chain(stream::pending())));
            Ok::<_, BoxError>(Response::builder().version(version).body(body)?)
        });
        let started = Instant::now();
        let service = DeadlineLayer::new(LIMIT).layer(server);
        let result = async {
            let response = service.oneshot(Request::get(uri).body(()).unwrap()).await?;
            let mut body = response.into_body();
            let mut received = 0;
            while let Some(frame) = body.frame().await {
                match frame {
                    Ok(_) => received += 1,
                    Err(err) if received == 0 => return Err(err),
                    Err(_) => break,
                }
            }
            Ok::<_, BoxError>(received)
        };
        let result = tokio::time::timeout(Duration::from_secs(7200), result).await;
        let result = result.unwrap_or_else(|_| Err("still open".into()));
        (result.map_err(|err| err.to_string()), started.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_a_response_times_out() {
        let (result, took) = send("/api/v1/pods", 1000, &[]).await;
        assert_eq!((result.unwrap_err().as_str(), took), ("the server did not respond within 55s", 55));
        let (result, took) = send("/api/v1/pods?watch=true", 1000, &[]).await;
        assert!(result.is_err() && took == 55);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_body_times_out_and_each_frame_resets_the_timer() {
        let (result, took) = send("/api/v1/pods", 50, &[50, 50, 50]).await;
        assert_eq!((result.unwrap(), took), (3, 50 + 150 + 55));
        let (result, took) = send("/api/v1/pods", 1, &[60]).await;
        assert_eq!((result.unwrap_err().as_str(), took), ("the server sent nothing more for 55s", 56));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_outlives_its_timeout_seconds_times_out() {
        let (result, took) = send("/api/v1/pods?watch=true&timeoutSeconds=290", 0, &[200, 100]).await;
        assert_eq!((result.unwrap(), took), (2, 345));
        let (result, took) = send("/api/v1/pods?watch=true&timeoutSeconds=290", 0, &[]).await;
        let expected = "the watch should have ended within 345s, but it is still open";
        assert_eq!((result.unwrap_err().as_str(), took), (expected, 345));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_watch_over_http1_times_out() {
        for uri in ["/api/v1/pods?watch=true&timeoutSeconds=290", "/api/v1/pods?watch=true"] {
            let (result, took) = send_over(Version::HTTP_11, uri, 0, &[50, 50]).await;
            assert_eq!((result.unwrap(), took), (2, 155));
            let (result, took) = send_over(Version::HTTP_11, uri, 0, &[]).await;
            assert!(result.unwrap_err().contains("silent for 55s") && took == 55);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn followed_logs_and_watches_over_http2_stay_open_for_hours() {
        assert_eq!(
            send("/api/v1/namespaces/a/pods/b/log?follow=true", 3000, &[]).await.0.unwrap_err(),
            "still open"
        );
        assert_eq!(send("/api/v1/pods?watch=true", 1, &[]).await.0.unwrap_err(), "still open");
    }
}
