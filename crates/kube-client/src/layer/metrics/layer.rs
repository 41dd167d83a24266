use tower_layer::Layer;

use super::Metrics;
use crate::measure::describe;

/// Records each request by the [`metrics`] facade: present with the feature `metrics`, and then part of the usual stack.
///
/// | metric | labels | |
/// |---|---|---|
/// | `rest_client_requests_total` | `code`, `method`, `host` | each attempt; `code` is `<error>` where no answer came |
/// | `rest_client_request_duration_seconds` | `verb`, `host` | until the head of the answer |
/// | `rest_client_request_size_bytes` | `verb`, `host` | |
/// | `rest_client_response_size_bytes` | `verb`, `host` | whole bodies; not watches, logs that are followed, upgrades |
/// | `rest_client_request_retries_total` | `code`, `verb`, `host` | by the code that caused the repetition |
/// | `rest_client_rate_limiter_duration_seconds` | `verb`, `host` | the wait for a turn, where a layer limits requests |
/// | `rest_client_dns_resolution_duration_seconds` | `host` | looking up a name, for a new connection of the usual stack |
/// | `rest_client_exec_plugin_call_total` | `code`, `call_status` | runs of credential programs |
///
/// Stands right above the transport, so that `host` is known and each attempt counts.
///
/// # Cost
/// Two to four look-ups in the recorder for each request; which recorder, and whether there is one, is the program's choice.
///
/// ```
/// use http::{Request, Response};
/// use kube_client::client::Body;
/// use kube_client::client::middleware::MetricsLayer;
/// use tower::{Layer, ServiceExt};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let recorder = metrics_util::debugging::DebuggingRecorder::new();
/// let recorded = recorder.snapshotter();
/// let _guard = metrics::set_default_local_recorder(&recorder);
/// let server = tower::service_fn(|_: Request<Body>| async { Ok::<_, tower::BoxError>(Response::new(Body::empty())) });
/// let request = Request::get("https://localhost:6443/version").body(Body::empty()).unwrap();
/// MetricsLayer::new().layer(server).oneshot(request).await.unwrap();
/// assert!(recorded.snapshot().into_vec().iter().any(|(key, ..)| key.key().name() == "rest_client_requests_total"));
/// # });
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MetricsLayer {}

impl MetricsLayer {
    /// Also tells the recorder, if it is installed already, what each metric is.
    #[expect(clippy::new_without_default, reason = "it has an effect")]
    pub fn new() -> Self {
        describe();
        Self {}
    }
}

impl<S> Layer<S> for MetricsLayer {
    type Service = Metrics<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Metrics { inner }
    }
}
