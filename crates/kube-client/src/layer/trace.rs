//! A tracing span around each request, with the field names of OpenTelemetry.

use std::fmt::{self, Display};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response, Uri};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;
use tracing::Span;
use tracing::field::Empty;

use crate::config::{without_credentials, write_origin, write_query};

/// Opens a span `HTTP` at level debug for each request. The span ends when the response's head has arrived, which is one event at debug.
///
/// Its fields have the names of OpenTelemetry's conventions for HTTP clients: `http.request.method`, `url.full`, `url.path`,
/// `server.address`, `server.port`, `http.response.status_code`, `http.request.resend_count`, `error.type`, and for exporters
/// `otel.name`, `otel.kind`, `otel.status_code` and `otel.status_description`. `otel.name` is the name of the `Api` method (`list`,
/// `patch_status`), or `HTTP GET` for other requests.
///
/// It is the outermost layer, so the span covers retries and the renewal of credentials. It records no secrets: no headers, no user
/// and password of the URL, no command of exec.
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
    /// For requests that carry a whole URL, or whose server is not known here.
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

/// The service of [`TraceLayer`].
#[derive(Clone, Debug)]
pub struct Trace<S> {
    inner: S,
    server: Option<Arc<Uri>>,
}

impl<S> Trace<S> {
    fn new(inner: S, server: Option<Arc<Uri>>) -> Self {
        Self { inner, server }
    }
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
        let span = span(&request, self.server.as_deref());
        let sent = {
            let _entered = span.enter();
            tracing::trace!("sending a request");
            self.inner.call(request)
        };
        TraceFuture::new(sent, span)
    }
}

fn span<B>(request: &Request<B>, server: Option<&Uri>) -> Span {
    let url = LoggedUrl { server, request: request.uri() };
    let span = tracing::debug_span!(
        "HTTP",
        http.request.method = %request.method(),
        url.full = %url,
        url.path = request.uri().path(),
        server.address = url.server().host(),
        server.port = url.server().port_u16(),
        http.response.status_code = Empty,
        http.request.resend_count = Empty,
        "error.type" = Empty,
        otel.name = Empty,
        otel.kind = "client",
        otel.status_code = Empty,
        otel.status_description = Empty,
    );
    // The name of the `Api` method is more specific than the HTTP method.
    match request.extensions().get::<&'static str>() {
        Some(verb) => span.record("otel.name", verb),
        None => span.record("otel.name", tracing::field::display(format_args!("HTTP {}", request.method()))),
    };
    span
}

pin_project! {
    /// The future of [`Trace`]: records the outcome of the request in the span.
    #[derive(Debug)]
    pub struct TraceFuture<F> {
        #[pin]
        inner: F,
        span: Span,
        started: Instant,
    }
}

impl<F> TraceFuture<F> {
    fn new(inner: F, span: Span) -> Self {
        Self { inner, span, started: Instant::now() }
    }
}

impl<F, ResBody, E> Future for TraceFuture<F>
where
    F: Future<Output = Result<Response<ResBody>, E>>,
    E: Display,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let _entered = this.span.enter();
        let result = ready!(this.inner.poll(cx));
        let started = *this.started;
        match &result {
            Ok(response) => {
                let status = response.status();
                this.span.record("http.response.status_code", status.as_u16());
                if status.is_client_error() || status.is_server_error() {
                    this.span.record("otel.status_code", "ERROR");
                    this.span.record("error.type", status.as_u16());
                }
                tracing::debug!(status = status.as_u16(), took = ?started.elapsed(), "received a response");
            }
            Err(err) => {
                this.span.record("otel.status_code", "ERROR");
                this.span.record("error.type", "transport");
                this.span.record("otel.status_description", tracing::field::display(err));
                tracing::debug!(error = %err, took = ?started.elapsed(), "the request failed");
            }
        }
        Poll::Ready(result)
    }
}

/// A request's whole URL as it may be logged: without user, password and command.
struct LoggedUrl<'a> {
    /// The server of a request that has only a path.
    server: Option<&'a Uri>,
    request: &'a Uri,
}

impl LoggedUrl<'_> {
    /// The URL that has the scheme and the host.
    fn server(&self) -> &Uri {
        match self.server {
            Some(server) if self.request.authority().is_none() => server,
            _ => self.request,
        }
    }
}

impl fmt::Display for LoggedUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.server();
        write_origin(server, f)?;
        if !std::ptr::eq(server, self.request) {
            f.write_str(server.path().trim_end_matches('/'))?;
        }
        f.write_str(self.request.path())?;
        write_query(self.request, f)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Mutex;

    use tower::ServiceExt;
    use tracing_subscriber::fmt::format::FmtSpan;

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The log of one request with this response.
    async fn logged(request: Request<()>, outcome: Result<u16, &'static str>) -> String {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_span_events(FmtSpan::CLOSE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let _guard = tracing::subscriber::set_default(subscriber);
        let server = tower::service_fn(move |_: Request<()>| {
            std::future::ready(outcome.map(|code| Response::builder().status(code).body(()).unwrap()))
        });
        let _response = TraceLayer::to(Uri::from_static("https://me:hush@api.example:6443"))
            .layer(server)
            .oneshot(request)
            .await;
        let bytes = log.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn the_span_records_request_and_response_without_credentials() {
        let mut request =
            Request::get("/api/v1/pods?limit=1").header("authorization", "hush").body(()).unwrap();
        request.extensions_mut().insert("list");
        let text = logged(request, Ok(404)).await;
        for expected in [
            "http.request.method=GET",
            "url.path=\"/api/v1/pods\"",
            "url.full=https://api.example:6443/api/v1/pods?limit=1",
            "server.address=\"api.example\"",
            "server.port=6443",
            "otel.kind=\"client\"",
            "http.response.status_code=404",
            "otel.name=\"list\"",
            "otel.status_code=\"ERROR\"",
            "received a response status=404 took=",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        assert!(!text.contains("hush"));
    }

    #[tokio::test]
    async fn only_a_failed_request_records_an_error_and_its_cause() {
        let fine = logged(Request::get("/version").body(()).unwrap(), Ok(200)).await;
        assert!(fine.contains("otel.name=HTTP GET") && !fine.contains("ERROR"), "{fine}");
        let failed = logged(Request::get("/version").body(()).unwrap(), Err("no route")).await;
        assert!(failed.contains("otel.status_description=no route"), "{failed}");
    }

    fn logged_url(server: Option<&'static str>, request: &'static str) -> String {
        let server = server.map(Uri::from_static);
        LoggedUrl { server: server.as_ref(), request: &Uri::from_static(request) }.to_string()
    }

    #[test]
    fn the_logged_url_has_the_server_and_no_secrets() {
        assert_eq!(
            logged_url(Some("https://me:hush@h:6443/k8s/"), "/api/v1/pods?a=1&b"),
            "https://h:6443/k8s/api/v1/pods?a=1&b"
        );
        assert_eq!(logged_url(Some("https://other"), "http://me:hush@h/api"), "http://h/api");
        assert_eq!(
            logged_url(None, "/exec?command=login&stdin=true&command=hush"),
            "/exec?command=REDACTED&stdin=true&command=REDACTED"
        );
        assert_eq!(logged_url(Some("https://[::1]:1"), "/"), "https://[::1]:1/");
    }
}
