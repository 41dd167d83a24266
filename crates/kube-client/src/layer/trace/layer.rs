use std::sync::Arc;

use http::Uri;
use tower_layer::Layer;

use super::Trace;
use crate::config::without_credentials;

/// Opens a span `HTTP` at level debug for each request; it lasts until the head of the answer is there.
///
/// Its fields have the names of OpenTelemetry's conventions for HTTP clients: `http.request.method`, `url.full`, `url.path`,
/// `server.address`, `server.port`, `http.response.status_code`, `http.request.resend_count`, `error.type`, and for exporters
/// `otel.name`, `otel.kind`, `otel.status_code` and `otel.status_description`. `otel.name` is what the request is for (`list`,
/// `patch_status`), or `HTTP GET` where that is not known.
///
/// Stands at the top, so that renewed credentials and repetitions are part of the span. Secrets do not get into it: headers are not
/// shown, user and password are left out of the URL, and so are the commands of exec.
///
/// ```
/// use kube_client::client::middleware::TraceLayer;
/// let layer = TraceLayer::to("https://localhost:6443".parse().unwrap());
/// let client = kube_client::client::ClientBuilder::new(tower::service_fn(|_| async {
///     Ok::<_, std::io::Error>(http::Response::new(kube_client::client::Body::empty()))
/// }), "default").with_layer(&layer).build();
/// ```
#[derive(Clone, Debug, Default)]
pub struct TraceLayer {
    server: Option<Arc<Uri>>,
}

impl TraceLayer {
    /// For requests that carry their whole URL, or of whose server nothing is known here.
    pub fn new() -> Self {
        Self::default()
    }

    /// For requests that carry a path only, and go to `server`.
    pub fn to(server: Uri) -> Self {
        Self { server: Some(Arc::new(without_credentials(&server))) }
    }
}

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Trace::new(inner, self.server.clone())
    }
}
