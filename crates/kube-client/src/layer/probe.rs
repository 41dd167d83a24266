//! Answers that may rightly be quiet for hours, over HTTP/1.1, which cannot tell a quiet server from a dead one.
//!
//! When such an answer has been quiet for a while, the server is asked something else over a connection of its own:
//!
//! - Under a log that is followed: for that log's lines of that while. If there are any, they should have come.
//! - Under what a proxied service answers: for its version. Any answer will do.
//!
//! Credentials that cannot be had say nothing about the server.
//!
//! What this cannot see is a connection that alone is dead, while the server is well and has nothing to say on it.

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

use super::nature::Nature;
use crate::auth::AuthError;
use crate::body::Body;
use crate::delay::MAX_DELAY;
use crate::transport::{Carrier, FreshConnection};

/// Puts [`Probe`] around a service. It stands above the credentials, so that its questions carry those of the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeLayer {
    limit: Option<Duration>,
}

impl ProbeLayer {
    /// Silence of this length is an error, unless the server has answered a question meanwhile. Without a limit nobody asks.
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

type Passed<S> = fn(Response<<S as Probed>::Body>) -> Response<ProbedBody<S>>;

impl<S: Probed> Service<Request<Body>> for Probe<S> {
    type Response = Response<ProbedBody<S>>;
    type Error = BoxError;
    type Future =
        Either<MapOk<S::Future, Passed<S>>, BoxFuture<'static, Result<Response<ProbedBody<S>>, BoxError>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let question = match Nature::of(&request) {
            Nature::FollowedLog => Some(Question::Log(request.uri().clone(), request.headers().clone())),
            Nature::Proxied => Some(Question::Version),
            _ => None,
        };
        let (Some(question), Some(limit)) = (question, self.limit) else {
            let passed: Passed<S> = |answer| answer.map(|body| ProbedBody { body, prober: None });
            return Either::Left(self.inner.call(request).map_ok(passed));
        };
        let carrier = Carrier::default();
        request.extensions_mut().insert(carrier.clone());
        let mut prober = Prober::new(self.inner.clone(), question, limit, carrier);
        let answer = self.inner.call(request);
        Either::Right(Box::pin(async move {
            let silence = std::future::poll_fn(|cx| prober.poll_silence(cx));
            let answer = match select(Box::pin(answer), Box::pin(silence)).await {
                futures::future::Either::Left((answer, _)) => answer?,
                futures::future::Either::Right((err, _)) => return Err(err),
            };
            prober.heard();
            let asks = answer.version() < Version::HTTP_2;
            Ok(answer.map(|body| ProbedBody { body, prober: asks.then(|| Box::new(prober)) }))
        }))
    }
}

/// The body of an answer through [`Probe`].
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
                    prober.heard();
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

/// Asks whenever it has been quiet for three quarters of the limit.
struct Prober<S> {
    service: S,
    question: Question,
    limit: Duration,
    /// Where it says how the request travels that is quiet.
    carrier: Carrier,
    /// Runs while it is quiet.
    timer: Option<Pin<Box<Sleep>>>,
    running: bool,
    asking: Option<BoxFuture<'static, Result<(), BoxError>>>,
}

impl<S: Probed> Prober<S> {
    fn new(service: S, question: Question, limit: Duration, carrier: Carrier) -> Self {
        Self { service, question, limit, carrier, timer: None, running: false, asking: None }
    }

    /// Something came.
    fn heard(&mut self) {
        self.running = false;
        self.asking = None;
    }

    /// Comes back when the silence is an error.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<BoxError> {
        let quiet = self.limit * 3 / 4;
        loop {
            if let Some(asking) = &mut self.asking {
                if let Err(err) = ready!(asking.poll_unpin(cx)) {
                    return Poll::Ready(err);
                }
                self.heard();
            }
            let due = Instant::now() + quiet;
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
            if !std::mem::replace(&mut self.running, true) {
                timer.as_mut().reset(due);
            }
            ready!(timer.as_mut().poll(cx));
            // Before it is sent, other limits hold; and HTTP/2 has its pings.
            if self.carrier.version().is_none_or(|version| version >= Version::HTTP_2) {
                self.heard();
                continue;
            }
            self.asking = Some(ask(self.service.clone(), self.question.clone(), quiet, self.limit).boxed());
        }
    }
}

/// What the server can be asked.
#[derive(Clone, Debug)]
enum Question {
    /// For the newest lines of this log.
    Log(Uri, HeaderMap),
    Version,
}

/// A server that cannot be asked is asked again after this time.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Lines that are only just under way are not asked for.
const UNDER_WAY: Duration = Duration::from_secs(5);

/// Asks what there is to know after so much silence. An error if, up to the limit, there is no answer that explains it.
async fn ask<S: Probed>(
    service: S,
    question: Question,
    quiet: Duration,
    limit: Duration,
) -> Result<(), BoxError> {
    let mut cause = None;
    let seen = &mut cause;
    let carrier = Carrier::default();
    let asked = &carrier;
    let asking = async move {
        loop {
            match explains(service.clone(), &question, quiet, asked).await {
                Ok(true) => return,
                Err(err) if is_of_credentials(&*err) => return,
                Ok(false) => {
                    *seen = Some("it has more to say, and that did not come".into());
                    // If it comes yet, this is dropped.
                    std::future::pending::<()>().await;
                }
                Err(err) => {
                    *seen = Some(err);
                    sleep(AGAIN_AFTER).await;
                }
            }
        }
    };
    let ended = timeout(limit.saturating_sub(quiet), asking).await;
    // What still waits for credentials has not reached the server.
    if ended.is_ok() || carrier.version().is_none() {
        return Ok(());
    }
    let cause = cause.unwrap_or_else(|| "it did not answer a question on another connection either".into());
    Err(io::Error::new(io::ErrorKind::TimedOut, Silent { limit, cause }).into())
}

/// Whether the answer is reason enough for the silence.
async fn explains<S: Probed>(
    service: S,
    question: &Question,
    quiet: Duration,
    carrier: &Carrier,
) -> Result<bool, BoxError> {
    let mut request = question.request(quiet)?;
    request.extensions_mut().insert(carrier.clone());
    let answer = service.oneshot(request).await?;
    let Question::Log(..) = question else { return Ok(true) };
    match answer.status() {
        // It should have ended.
        StatusCode::NOT_FOUND => Ok(false),
        status if !status.is_success() => Ok(true),
        _ => {
            let mut body = answer.into_body();
            while let Some(frame) = body.frame().await {
                if frame.map_err(Into::into)?.data_ref().is_some_and(|data| !data.is_empty()) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Whether the question was not sent, for want of credentials.
fn is_of_credentials(err: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(err), |err| err.source()).any(|err| err.is::<AuthError>())
}

impl Question {
    fn request(&self, quiet: Duration) -> Result<Request<Body>, http::Error> {
        let mut request = match self {
            Self::Version => Request::get("/version").body(Body::empty())?,
            Self::Log(uri, headers) => {
                let mut request = Request::get(newest_lines(uri, quiet)).body(Body::empty())?;
                request.headers_mut().clone_from(headers);
                request
            }
        };
        request.extensions_mut().insert(FreshConnection);
        Ok(request)
    }
}

/// The same log, its first byte of so much time.
fn newest_lines(uri: &Uri, quiet: Duration) -> String {
    let kept = uri.query().unwrap_or_default().split('&').filter(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        let other = ["follow", "tailLines", "sinceSeconds", "sinceTime", "limitBytes", "timestamps"];
        !name.is_empty() && !other.contains(&name)
    });
    let seconds = quiet.saturating_sub(UNDER_WAY).as_secs().max(1);
    let asked = [format!("sinceSeconds={seconds}"), "limitBytes=1".to_owned()];
    let query: Vec<&str> = kept.chain(asked.iter().map(String::as_str)).collect();
    format!("{}?{}", uri.path(), query.join("&"))
}

#[derive(Debug, thiserror::Error)]
#[error("the server sent nothing for {limit:?}")]
struct Silent {
    limit: Duration,
    #[source]
    cause: BoxError,
}

#[cfg(test)]
mod tests;
