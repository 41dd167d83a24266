use std::time::Duration;

use tower_layer::Layer;

use super::Deadline;
use crate::delay::MAX_DELAY;

/// Limits how long an answer may stay away: until its head, and then each silence within its body.
///
/// Dead connections are noticed by the probes of HTTP/2 and TCP. This is for what those cannot see: a server, or a proxy before it,
/// that keeps the connection alive and never answers. Requests that may rightly be quiet are left alone:
///
/// | request | until the head | silence within the body |
/// |---|---|---|
/// | `watch` over HTTP/2 | limited | until its `timeoutSeconds` are over, and as long again as the limit; without them, not limited |
/// | `watch` over HTTP/1.1 | limited | limited, and [`Error::is_idle_watch`](crate::Error::is_idle_watch): a healthy one may be silent, too |
/// | with `follow` (logs), or through `proxy` | not limited | not limited |
/// | an upgrade (exec, attach, port-forward) | limited | not limited here; a websocket has its own signs of life |
/// | all others | limited | limited |
///
/// The time runs from when the request is handed over, connecting included, and only while somebody waits. Its end is a
/// [`std::io::Error`] of kind `TimedOut`, and the request is dropped.
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
/// assert_eq!(err.to_string(), "the server did not answer within 10ms");
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DeadlineLayer {
    limit: Option<Duration>,
}

impl DeadlineLayer {
    /// With this limit, or none; more than ten years counts as ten years.
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
