//! Checks that the server is alive while a response over HTTP/1.1 is silent, for requests that may be silent for hours.
//!
//! HTTP/1.1 has no ping, so a quiet connection and a dead one look the same. After a period of silence this layer sends a second request,
//! the probe, over a new connection. What it asks for depends on the silent request:
//!
//! - A followed log: the lines of that log since the last frame. A line in the response should have arrived on the first connection, so
//!   that connection is dead.
//! - A proxied request: `/version`. Any response shows that the server is alive.
//!
//! Without credentials the probe cannot be sent, and the silence is no error.
//!
//! This does not detect a dead connection to a server that is alive and has nothing to send on it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::future::{BoxFuture, Either, MapOk, select};
use futures::{FutureExt, TryFutureExt};
use http::{HeaderMap, Request, Response, StatusCode, Uri, Version};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tower::{BoxError, ServiceExt};
use tower_layer::Layer;
use tower_service::Service;

use super::request_kind::RequestKind;
use crate::auth::AuthError;
use crate::body::Body;
use crate::config::MAX_DELAY;
use crate::transport::{FreshConnection, NegotiatedVersion};

/// Puts [`Probe`] around a service. Goes above [`AuthLayer`](super::AuthLayer), so that probe requests carry current credentials.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeLayer {
    limit: Option<Duration>,
}

impl ProbeLayer {
    /// Silence of this length is an error, unless the server has responded to a probe. Without a limit there are no probes.
    pub(crate) fn new(limit: impl Into<Option<Duration>>) -> Self {
        Self { limit: limit.into().map(|limit| limit.min(MAX_DELAY)) }
    }
}

impl<S> Layer<S> for ProbeLayer {
    type Service = Probe<S>;

    fn layer(&self, inner: S) -> Probe<S> {
        Probe { inner, limit: self.limit }
    }
}

/// The service of [`ProbeLayer`].
#[derive(Clone, Debug)]
pub(crate) struct Probe<S> {
    inner: S,
    limit: Option<Duration>,
}

/// A service that can be probed.
pub(crate) trait Probed:
    Service<Request<Body>, Response = Response<Self::Body>, Error = BoxError, Future: Send>
    + Clone
    + Send
    + 'static
{
    type Body: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static;
}

impl<S, B> Probed for S
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError, Future: Send>
        + Clone
        + Send
        + 'static,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    type Body = B;
}

type Unprobed<S> = fn(Response<<S as Probed>::Body>) -> Response<ProbedBody<S>>;

impl<S: Probed> Service<Request<Body>> for Probe<S> {
    type Response = Response<ProbedBody<S>>;
    type Error = BoxError;
    type Future =
        Either<MapOk<S::Future, Unprobed<S>>, BoxFuture<'static, Result<Response<ProbedBody<S>>, BoxError>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let probe = match RequestKind::of(&request) {
            RequestKind::FollowedLog => {
                Some(ProbeRequest::Log(request.uri().clone(), request.headers().clone()))
            }
            RequestKind::Proxied => Some(ProbeRequest::Version),
            _ => None,
        };
        let (Some(probe), Some(limit)) = (probe, self.limit) else {
            let unprobed: Unprobed<S> = |response| response.map(|body| ProbedBody { body, prober: None });
            return Either::Left(self.inner.call(request).map_ok(unprobed));
        };
        let negotiated = NegotiatedVersion::default();
        request.extensions_mut().insert(negotiated.clone());
        let mut prober = Prober::new(self.inner.clone(), probe, limit, negotiated);
        let response = self.inner.call(request);
        Either::Right(Box::pin(async move {
            let silence = std::future::poll_fn(|cx| prober.poll_silence(cx));
            let response = match select(Box::pin(response), Box::pin(silence)).await {
                futures::future::Either::Left((response, _)) => response?,
                futures::future::Either::Right((err, _)) => return Err(err),
            };
            prober.reset();
            let needs_probes = response.version() < Version::HTTP_2;
            Ok(response.map(|body| ProbedBody { body, prober: needs_probes.then(|| Box::new(prober)) }))
        }))
    }
}

/// The body of a response through [`Probe`].
pub(crate) struct ProbedBody<S: Probed> {
    body: S::Body,
    prober: Option<Box<Prober<S>>>,
}

impl<S: Probed> HttpBody for ProbedBody<S> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let frame = Pin::new(&mut this.body).poll_frame(cx);
        match (frame, &mut this.prober) {
            (Poll::Ready(frame), prober) => {
                if let Some(prober) = prober {
                    prober.reset();
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            (Poll::Pending, None) => Poll::Pending,
            (Poll::Pending, Some(prober)) => {
                let err = ready!(prober.poll_silence(cx));
                this.prober = None;
                Poll::Ready(Some(Err(err)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Sends a probe request whenever the response has been silent for three quarters of the limit.
struct Prober<S> {
    service: S,
    probe: ProbeRequest,
    limit: Duration,
    /// Has the HTTP version of the silent request.
    negotiated: NegotiatedVersion,
    /// Runs while the response is silent.
    timer: Option<Pin<Box<Sleep>>>,
    running: bool,
    probing: Option<BoxFuture<'static, Result<(), BoxError>>>,
}

impl<S: Probed> Prober<S> {
    fn new(service: S, probe: ProbeRequest, limit: Duration, negotiated: NegotiatedVersion) -> Self {
        Self { service, probe, limit, negotiated, timer: None, running: false, probing: None }
    }

    /// Starts over, because something arrived.
    fn reset(&mut self) {
        self.running = false;
        self.probing = None;
    }

    /// Ready when the silence is an error.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<BoxError> {
        let silence = self.limit * 3 / 4;
        loop {
            if let Some(probing) = &mut self.probing {
                if let Err(err) = ready!(probing.poll_unpin(cx)) {
                    return Poll::Ready(err);
                }
                self.reset();
            }
            let due = Instant::now() + silence;
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
            if !std::mem::replace(&mut self.running, true) {
                timer.as_mut().reset(due);
            }
            ready!(timer.as_mut().poll(cx));
            // Before the request is sent, other limits hold; and HTTP/2 has pings.
            if self.negotiated.get().is_none_or(|version| version >= Version::HTTP_2) {
                self.reset();
                continue;
            }
            self.probing =
                Some(run_probe(self.service.clone(), self.probe.clone(), silence, self.limit).boxed());
        }
    }
}

/// The request that shows whether the server is alive.
#[derive(Clone, Debug)]
enum ProbeRequest {
    /// The newest lines of this log.
    Log(Uri, HeaderMap),
    Version,
}

/// Delay before a probe request that failed is repeated.
const PROBE_RETRY_DELAY: Duration = Duration::from_secs(2);

/// Lines of the last seconds may be on their way, and are not requested.
const IN_TRANSIT: Duration = Duration::from_secs(5);

/// Sends the probe request after this much silence, and again while it fails. An error if no response explains the silence before the
/// limit.
async fn run_probe<S: Probed>(
    service: S,
    probe: ProbeRequest,
    silence: Duration,
    limit: Duration,
) -> Result<(), BoxError> {
    let mut cause = None;
    let last_cause = &mut cause;
    let negotiated = NegotiatedVersion::default();
    let probe_carrier = &negotiated;
    let probing = async move {
        loop {
            match explains_silence(service.clone(), &probe, silence, probe_carrier).await {
                Ok(true) => return,
                Err(err) if is_auth_error(&*err) => return,
                Ok(false) => {
                    *last_cause = Some("the log has newer lines that did not arrive".into());
                    // If they arrive before the limit, this future is dropped.
                    std::future::pending::<()>().await;
                }
                Err(err) => {
                    *last_cause = Some(err);
                    sleep(PROBE_RETRY_DELAY).await;
                }
            }
        }
    };
    let ended = timeout(limit.saturating_sub(silence), probing).await;
    // A probe that still waits for credentials was not sent.
    if ended.is_ok() || negotiated.get().is_none() {
        return Ok(());
    }
    let cause = cause.unwrap_or_else(|| "it did not respond on another connection either".into());
    Err(io::Error::new(io::ErrorKind::TimedOut, SilenceError { limit, cause }).into())
}

/// Whether the response to the probe explains the silence.
async fn explains_silence<S: Probed>(
    service: S,
    probe: &ProbeRequest,
    silence: Duration,
    negotiated: &NegotiatedVersion,
) -> Result<bool, BoxError> {
    let mut request = probe.request(silence)?;
    request.extensions_mut().insert(negotiated.clone());
    let response = service.oneshot(request).await?;
    let ProbeRequest::Log(..) = probe else { return Ok(true) };
    match response.status() {
        // The followed log should have ended.
        StatusCode::NOT_FOUND => Ok(false),
        status if !status.is_success() => Ok(true),
        _ => {
            let mut body = response.into_body();
            while let Some(frame) = body.frame().await {
                if frame.map_err(Into::into)?.data_ref().is_some_and(|data| !data.is_empty()) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Whether the probe was not sent because there are no credentials.
fn is_auth_error(err: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(err), |err| err.source()).any(|err| err.is::<AuthError>())
}

impl ProbeRequest {
    fn request(&self, silence: Duration) -> Result<Request<Body>, http::Error> {
        let mut request = match self {
            Self::Version => Request::get("/version").body(Body::empty())?,
            Self::Log(uri, headers) => {
                let mut request = Request::get(newest_lines(uri, silence)).body(Body::empty())?;
                request.headers_mut().clone_from(headers);
                request
            }
        };
        request.extensions_mut().insert(FreshConnection);
        Ok(request)
    }
}

/// The path and query for the first byte of the same log since the silence began.
fn newest_lines(uri: &Uri, silence: Duration) -> String {
    let kept = uri.query().unwrap_or_default().split('&').filter(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        let replaced = ["follow", "tailLines", "sinceSeconds", "sinceTime", "limitBytes", "timestamps"];
        !name.is_empty() && !replaced.contains(&name)
    });
    let seconds = silence.saturating_sub(IN_TRANSIT).as_secs().max(1);
    let added = [format!("sinceSeconds={seconds}"), "limitBytes=1".to_owned()];
    let query: Vec<&str> = kept.chain(added.iter().map(String::as_str)).collect();
    format!("{}?{}", uri.path(), query.join("&"))
}

#[derive(Debug, thiserror::Error)]
#[error("the server sent nothing for {limit:?}")]
struct SilenceError {
    limit: Duration,
    #[source]
    cause: BoxError,
}

#[cfg(test)]
mod tests;
