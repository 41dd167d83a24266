use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use tower::BoxError;
use tower_service::Service;

use super::limits::{Limits, limits};
use super::{DeadlineBody, DeadlineFuture};
use crate::layer::nature::Nature;

/// The service of [`DeadlineLayer`](super::DeadlineLayer).
#[derive(Clone, Debug)]
pub struct Deadline<S> {
    inner: S,
    limit: Option<Duration>,
}

impl<S> Deadline<S> {
    pub(super) fn new(inner: S, limit: Option<Duration>) -> Self {
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
            Some(limit) => limits(Nature::of(&request), limit),
            None => Limits::default(),
        };
        DeadlineFuture::new(self.inner.call(request), limits)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::{StreamExt, stream};
    use http::Version;
    use http_body::Frame;
    use http_body_util::{BodyExt, StreamBody};
    use tokio::time::Instant;
    use tower::{Layer, ServiceExt};

    use super::super::DeadlineLayer;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(55);

    async fn ask(uri: &'static str, head: u64, pauses: &'static [u64]) -> (Result<usize, String>, u64) {
        ask_over(Version::HTTP_2, uri, head, pauses).await
    }

    /// Answers after `head`, then with a piece after each of `pauses`, and then never ends.
    async fn ask_over(
        version: Version,
        uri: &'static str,
        head: u64,
        pauses: &'static [u64],
    ) -> (Result<usize, String>, u64) {
        let server = tower::service_fn(move |_: Request<()>| async move {
            tokio::time::sleep(Duration::from_secs(head)).await;
            let pieces = stream::iter(pauses).then(|pause| async move {
                tokio::time::sleep(Duration::from_secs(*pause)).await;
                Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"x")))
            });
            let body = StreamBody::new(Box::pin(pieces.chain(stream::pending())));
            Ok::<_, BoxError>(Response::builder().version(version).body(body)?)
        });
        let started = Instant::now();
        let service = DeadlineLayer::new(LIMIT).layer(server);
        let asked = async {
            let answer = service.oneshot(Request::get(uri).body(()).unwrap()).await?;
            let mut body = answer.into_body();
            let mut pieces = 0;
            while let Some(frame) = body.frame().await {
                match frame {
                    Ok(_) => pieces += 1,
                    Err(err) if pieces == 0 => return Err(err),
                    Err(_) => break,
                }
            }
            Ok::<_, BoxError>(pieces)
        };
        let asked = tokio::time::timeout(Duration::from_secs(7200), asked).await;
        let asked = asked.unwrap_or_else(|_| Err("still open".into()));
        (asked.map_err(|err| err.to_string()), started.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_never_answered_is_an_error() {
        let (asked, took) = ask("/api/v1/pods", 1000, &[]).await;
        assert_eq!((asked.unwrap_err().as_str(), took), ("the server did not answer within 55s", 55));
        let (asked, took) = ask("/api/v1/pods?watch=true", 1000, &[]).await;
        assert!(asked.is_err() && took == 55);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_an_error_and_each_piece_starts_the_time_anew() {
        let (asked, took) = ask("/api/v1/pods", 50, &[50, 50, 50]).await;
        assert_eq!((asked.unwrap(), took), (3, 50 + 150 + 55));
        let (asked, took) = ask("/api/v1/pods", 1, &[60]).await;
        assert_eq!((asked.unwrap_err().as_str(), took), ("the server sent nothing more for 55s", 56));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_has_to_end_when_its_time_is_over() {
        let (asked, took) = ask("/api/v1/pods?watch=true&timeoutSeconds=290", 0, &[200, 100]).await;
        assert_eq!((asked.unwrap(), took), (2, 345));
        let (asked, took) = ask("/api/v1/pods?watch=true&timeoutSeconds=290", 0, &[]).await;
        let expected = "the watch should have ended within 345s, and nothing came";
        assert_eq!((asked.unwrap_err().as_str(), took), (expected, 345));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_over_http1_is_ended_when_it_is_silent() {
        for uri in ["/api/v1/pods?watch=true&timeoutSeconds=290", "/api/v1/pods?watch=true"] {
            let (asked, took) = ask_over(Version::HTTP_11, uri, 0, &[50, 50]).await;
            assert_eq!((asked.unwrap(), took), (2, 155));
            let (asked, took) = ask_over(Version::HTTP_11, uri, 0, &[]).await;
            assert!(asked.unwrap_err().contains("silent for 55s") && took == 55);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_log_stays_open_for_hours() {
        assert_eq!(
            ask("/api/v1/namespaces/a/pods/b/log?follow=true", 3000, &[]).await.0.unwrap_err(),
            "still open"
        );
        assert_eq!(ask("/api/v1/pods?watch=true", 1, &[]).await.0.unwrap_err(), "still open");
    }
}
