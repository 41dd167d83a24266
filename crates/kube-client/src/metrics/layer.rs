//! Counts and times requests, under the metric names of client-go.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http::{Method, Request, Response};
use http_body::{Body, Frame, SizeHint};
use metrics::{SharedString, counter, histogram};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::enabled::{
    DURATION, REQUEST_SIZE, REQUESTS, RESPONSE_SIZE, RETRIES, Repeated, WAIT, Waited, describe,
};
use crate::request_kind::RequestKind;

/// Records each request through the [`metrics`] facade. The feature `metrics` adds it to the default stack.
///
/// | metric | labels | |
/// |---|---|---|
/// | `rest_client_requests_total` | `code`, `method`, `host` | each attempt; `code` is `<error>` without a response |
/// | `rest_client_request_duration_seconds` | `verb`, `host` | until the response's head |
/// | `rest_client_request_size_bytes` | `verb`, `host` | |
/// | `rest_client_response_size_bytes` | `verb`, `host` | bodies read to their end; not watches, followed logs, upgrades |
/// | `rest_client_request_retries_total` | `code`, `verb`, `host` | `code` is the one that caused the retry |
/// | `rest_client_rate_limiter_duration_seconds` | `verb`, `host` | the wait for a permit, where a layer limits requests |
/// | `rest_client_dns_resolution_duration_seconds` | `host` | DNS lookups for new connections of the default stack |
/// | `rest_client_exec_plugin_call_total` | `code`, `call_status` | runs of exec plugins |
///
/// It goes right above the transport: `host` is known there, and each attempt is counted.
///
/// # Cost
/// Two to four lookups in the recorder for each request. The program chooses the recorder; without one, nothing is recorded.
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
    /// Also describes each metric to the recorder, if one is installed already.
    #[expect(clippy::new_without_default, reason = "it has a side effect")]
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

/// The service of [`MetricsLayer`].
#[derive(Clone, Debug)]
pub struct Metrics<S> {
    inner: S,
}

impl<S, ReqBody, ResBody> Service<Request<ReqBody>> for Metrics<S>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    ReqBody: Body,
{
    type Response = Response<MetricsBody<ResBody>>;
    type Error = S::Error;
    type Future = MetricsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let labels = Labels::new(&request);
        let Labels { verb, host } = labels.clone();
        if let Some(Waited(time)) = request.extensions().get() {
            histogram!(WAIT, "verb" => verb.clone(), "host" => host.clone()).record(*time);
        }
        if let Some(Repeated(code)) = request.extensions().get() {
            let code = code.as_u16().to_string();
            counter!(RETRIES, "code" => code, "verb" => verb.clone(), "host" => host.clone()).increment(1);
        }
        if let Some(size) = request.body().size_hint().exact() {
            histogram!(REQUEST_SIZE, "verb" => verb, "host" => host).record(size as f64);
        }
        let records_size = RequestKind::of(&request) == RequestKind::Short;
        MetricsFuture::new(self.inner.call(request), labels, records_size)
    }
}

pin_project! {
    /// The future of [`Metrics`].
    #[derive(Debug)]
    pub struct MetricsFuture<F> {
        #[pin]
        inner: F,
        labels: Labels,
        records_size: bool,
        started: Instant,
    }
}

impl<F> MetricsFuture<F> {
    /// Records the size of the response's body if `records_size`.
    fn new(inner: F, labels: Labels, records_size: bool) -> Self {
        Self { inner, labels, records_size, started: Instant::now() }
    }
}

impl<F, B, E> Future for MetricsFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<MetricsBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = ready!(this.inner.poll(cx));
        let Labels { verb, host } = this.labels.clone();
        let code: SharedString = match &result {
            Ok(response) => response.status().as_u16().to_string().into(),
            Err(_) => "<error>".into(),
        };
        histogram!(DURATION, "verb" => verb.clone(), "host" => host.clone()).record(this.started.elapsed());
        counter!(REQUESTS, "code" => code, "method" => verb, "host" => host).increment(1);
        let labels = this.records_size.then(|| this.labels.clone());
        Poll::Ready(result.map(|response| response.map(|body| MetricsBody::new(body, labels))))
    }
}

pin_project! {
    /// The body of a response through [`Metrics`]: its size is recorded when it has been read to the end.
    #[derive(Debug)]
    pub struct MetricsBody<B> {
        #[pin]
        inner: B,
        // `None` when the size is not to be recorded, or has been.
        labels: Option<Labels>,
        size: u64,
    }
}

impl<B> MetricsBody<B> {
    fn new(inner: B, labels: Option<Labels>) -> Self {
        Self { inner, labels, size: 0 }
    }
}

impl<B: Body> Body for MetricsBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            *this.size += frame.data_ref().map_or(0, Buf::remaining) as u64;
        }
        // A caller that knows from `is_end_stream` that this was the last frame does not poll again.
        if (frame.is_none() || this.inner.is_end_stream())
            && let Some(Labels { verb, host }) = this.labels.take()
        {
            histogram!(RESPONSE_SIZE, "verb" => verb, "host" => host).record(*this.size as f64);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The labels that all metrics of a request have.
#[derive(Clone, Debug)]
struct Labels {
    verb: SharedString,
    host: SharedString,
}

impl Labels {
    fn new<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        let host = uri.host().unwrap_or_default();
        let host = match uri.port_u16() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Self { verb: verb(request.method()), host: host.into() }
    }
}

fn verb(method: &Method) -> SharedString {
    for (known, name) in [
        (Method::GET, "GET"),
        (Method::POST, "POST"),
        (Method::PUT, "PUT"),
        (Method::PATCH, "PATCH"),
        (Method::DELETE, "DELETE"),
    ] {
        if *method == known {
            return name.into();
        }
    }
    method.as_str().to_owned().into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use http::StatusCode;
    use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
    use tower::retry::RetryLayer;
    use tower::{BoxError, ServiceBuilder, ServiceExt};

    use super::*;
    use crate::client::Client;
    use crate::layer::RetryPolicy;
    use crate::metrics::plugin_called;

    type OwnBody = crate::body::Body;

    /// Name and labels of each metric, with its count or its values.
    fn shown(recorded: &Snapshotter) -> BTreeMap<String, String> {
        let entries = recorded.snapshot().into_vec().into_iter();
        let shown = entries.map(|(key, _, _, value)| {
            let labels: Vec<_> =
                key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            let value = match value {
                DebugValue::Counter(count) => count.to_string(),
                DebugValue::Gauge(value) => value.to_string(),
                DebugValue::Histogram(values) => format!("{values:?}"),
            };
            (format!("{}{{{}}}", key.key().name(), labels.join(",")), value)
        });
        shown.collect()
    }

    fn get(path: &str) -> Request<OwnBody> {
        Request::get(format!("https://user:hush@h:6443{path}")).body(OwnBody::empty()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn every_attempt_is_counted_and_retries_have_the_code_of_their_cause() {
        let recorder = DebuggingRecorder::new();
        let recorded = recorder.snapshotter();
        let _guard = metrics::set_default_local_recorder(&recorder);
        let mut codes = [429, 201].into_iter();
        let server = tower::service_fn(move |_: Request<OwnBody>| {
            let code = codes.next().unwrap();
            let body = OwnBody::from(b"hello".to_vec());
            std::future::ready(Ok::<_, BoxError>(
                Response::builder().status(code).header("retry-after", "1").body(body).unwrap(),
            ))
        });
        let service = ServiceBuilder::new()
            .layer(RetryLayer::new(RetryPolicy::server_retry()))
            .layer(MetricsLayer::new())
            .service(SharedService::new(server));
        let client = Client::new(service, "default");
        let request = Request::post("https://h:6443/x").body(OwnBody::from(b"abc".to_vec())).unwrap();
        let response = client.send(request).await.unwrap();
        response.into_body().collect_bytes().await.unwrap();
        let shown = shown(&recorded);
        assert_eq!(shown["rest_client_requests_total{code=429,method=POST,host=h:6443}"], "1");
        assert_eq!(shown["rest_client_requests_total{code=201,method=POST,host=h:6443}"], "1");
        assert_eq!(shown["rest_client_request_retries_total{code=429,verb=POST,host=h:6443}"], "1");
        assert_eq!(shown["rest_client_request_size_bytes{verb=POST,host=h:6443}"], "[3.0, 3.0]");
        assert_eq!(shown["rest_client_response_size_bytes{verb=POST,host=h:6443}"], "[5.0]");
        assert_eq!(shown["rest_client_rate_limiter_duration_seconds{verb=POST,host=h:6443}"], "[0.0]");
        assert!(shown.contains_key("rest_client_request_duration_seconds{verb=POST,host=h:6443}"));
    }

    #[tokio::test]
    async fn a_failure_has_no_code_and_a_watch_records_no_size() {
        let recorder = DebuggingRecorder::new();
        let recorded = recorder.snapshotter();
        let _guard = metrics::set_default_local_recorder(&recorder);
        let failing = tower::service_fn(|_: Request<OwnBody>| async {
            Err::<Response<OwnBody>, _>(BoxError::from("no"))
        });
        assert!(MetricsLayer::new().layer(failing).oneshot(get("/x")).await.is_err());
        let watching = tower::service_fn(|_: Request<OwnBody>| async {
            Ok::<_, BoxError>(Response::new(OwnBody::empty()))
        });
        let response = MetricsLayer::new().layer(watching).oneshot(get("/x?watch=true")).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        drop(response);
        plugin_called(1, "plugin_not_found_error");
        let shown = shown(&recorded);
        assert_eq!(shown["rest_client_requests_total{code=<error>,method=GET,host=h:6443}"], "1");
        assert_eq!(
            shown["rest_client_exec_plugin_call_total{code=1,call_status=plugin_not_found_error}"],
            "1"
        );
        assert!(
            !shown
                .keys()
                .any(|key| key.starts_with("rest_client_response_size_bytes") || key.contains("hush"))
        );
    }

    /// A service that cannot be cloned, for layers that need a clone.
    #[derive(Clone)]
    struct SharedService<S>(std::sync::Arc<std::sync::Mutex<S>>);

    impl<S> SharedService<S> {
        fn new(service: S) -> Self {
            Self(std::sync::Arc::new(std::sync::Mutex::new(service)))
        }
    }

    impl<S: Service<Request<OwnBody>>> Service<Request<OwnBody>> for SharedService<S> {
        type Response = S::Response;
        type Error = S::Error;
        type Future = S::Future;

        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
            self.0.lock().unwrap().poll_ready(cx)
        }

        fn call(&mut self, request: Request<OwnBody>) -> S::Future {
            self.0.lock().unwrap().call(request)
        }
    }
}
