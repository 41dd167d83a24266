use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use metrics::{SharedString, counter, histogram};
use pin_project_lite::pin_project;
use tokio::time::Instant;

use super::MetricsBody;
use super::labels::Labels;
use crate::measure::{DURATION, REQUESTS};

pin_project! {
    /// The future of [`Metrics`](super::Metrics).
    #[derive(Debug)]
    pub struct MetricsFuture<F> {
        #[pin]
        inner: F,
        labels: Labels,
        sized: bool,
        started: Instant,
    }
}

impl<F> MetricsFuture<F> {
    /// The size of the answer is recorded if it is `sized`.
    pub(super) fn new(inner: F, labels: Labels, sized: bool) -> Self {
        Self { inner, labels, sized, started: Instant::now() }
    }
}

impl<F, B, E> Future for MetricsFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<MetricsBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.inner.poll(cx));
        let Labels { verb, host } = this.labels.clone();
        let code: SharedString = match &answer {
            Ok(response) => response.status().as_u16().to_string().into(),
            Err(_) => "<error>".into(),
        };
        histogram!(DURATION, "verb" => verb.clone(), "host" => host.clone()).record(this.started.elapsed());
        counter!(REQUESTS, "code" => code, "method" => verb, "host" => host).increment(1);
        let labels = this.sized.then(|| this.labels.clone());
        Poll::Ready(answer.map(|response| response.map(|body| MetricsBody::new(body, labels))))
    }
}
