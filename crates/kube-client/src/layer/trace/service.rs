use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response, Uri};
use tower_service::Service;
use tracing::Span;
use tracing::field::Empty;

use super::TraceFuture;
use super::url::Shown;

/// The service of [`TraceLayer`](super::TraceLayer).
#[derive(Clone, Debug)]
pub struct Trace<S> {
    inner: S,
    server: Option<Arc<Uri>>,
}

impl<S> Trace<S> {
    pub(super) fn new(inner: S, server: Option<Arc<Uri>>) -> Self {
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
            tracing::trace!("requesting");
            self.inner.call(request)
        };
        TraceFuture::new(sent, span)
    }
}

fn span<B>(request: &Request<B>, server: Option<&Uri>) -> Span {
    let url = Shown { server, request: request.uri() };
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
    // The verb that the request was built for says more than its HTTP method.
    match request.extensions().get::<&'static str>() {
        Some(verb) => span.record("otel.name", verb),
        None => span.record("otel.name", tracing::field::display(format_args!("HTTP {}", request.method()))),
    };
    span
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Mutex;

    use tower::{Layer, ServiceExt};
    use tracing_subscriber::fmt::format::FmtSpan;

    use crate::layer::TraceLayer;

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

    /// What is logged about a request that is answered like this.
    async fn logged(request: Request<()>, answer: Result<u16, &'static str>) -> String {
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
            std::future::ready(answer.map(|code| Response::builder().status(code).body(()).unwrap()))
        });
        let _answer = TraceLayer::to(Uri::from_static("https://me:hush@api.example:6443"))
            .layer(server)
            .oneshot(request)
            .await;
        let bytes = log.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn a_span_tells_of_the_request_and_its_answer_but_not_of_credentials() {
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
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
        assert!(!text.contains("hush"));
    }

    #[tokio::test]
    async fn success_is_no_error_and_failure_tells_why() {
        let fine = logged(Request::get("/version").body(()).unwrap(), Ok(200)).await;
        assert!(fine.contains("otel.name=HTTP GET") && !fine.contains("ERROR"), "{fine}");
        let failed = logged(Request::get("/version").body(()).unwrap(), Err("no route")).await;
        assert!(failed.contains("otel.status_description=no route"), "{failed}");
    }
}
