use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use metrics::{counter, histogram};
use tower_service::Service;

use super::labels::Labels;
use super::{MetricsBody, MetricsFuture};
use crate::layer::nature::Nature;
use crate::measure::{REQUEST_SIZE, RETRIES, Repeated, WAIT, Waited};

/// The service of [`MetricsLayer`](super::MetricsLayer).
#[derive(Clone, Debug)]
pub struct Metrics<S> {
    pub(super) inner: S,
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
        let labels = Labels::of(&request);
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
        let sized = Nature::of(&request) == Nature::Call;
        MetricsFuture::new(self.inner.call(request), labels, sized)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use http::StatusCode;
    use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
    use tower::retry::RetryLayer;
    use tower::{BoxError, Layer, ServiceBuilder, ServiceExt};

    use super::*;
    use crate::client::Client;
    use crate::layer::{MetricsLayer, RetryPolicy};
    use crate::measure::plugin_called;

    type OwnBody = crate::body::Body;

    /// Name and labels of each metric, and what it counted or the values it took.
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
    async fn every_attempt_counts_and_repetitions_name_their_cause() {
        let recorder = DebuggingRecorder::new();
        let recorded = recorder.snapshotter();
        let _guard = metrics::set_default_local_recorder(&recorder);
        let mut answers = [429, 201].into_iter();
        let server = tower::service_fn(move |_: Request<OwnBody>| {
            let code = answers.next().unwrap();
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
        let answer = client.send(request).await.unwrap();
        answer.into_body().collect_bytes().await.unwrap();
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
    async fn a_failure_has_no_code_and_a_watch_no_size() {
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
        let answer = MetricsLayer::new().layer(watching).oneshot(get("/x?watch=true")).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        drop(answer);
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

    /// `service_fn` with state, for layers that clone.
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
