//! Sends a request again where that is safe and may help.

use std::time::Duration;

use http::header::{RETRY_AFTER, UPGRADE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::time::{Instant, Sleep};
use tower::BoxError;
use tower::retry::Policy;
use tower::retry::backoff::{
    Backoff, ExponentialBackoff, ExponentialBackoffMaker, InvalidBackoff, MakeBackoff,
};
use tower::util::rng::HasherRng;

use super::outdated::Outdated;
use crate::body::{Body, try_clone_request};
use crate::metrics;
use crate::transport::{NotProcessed, closed_before_response};

/// Retries requests after a response of 429, 503 or 504, or of 500 with `Retry-After`: a policy for tower's `RetryLayer`.
///
/// Only requests that are safe to repeat are retried: all of them where the server refused before it did anything (429, and 500 or 503
/// with `Retry-After`), otherwise reads. Requests that the server did not process, as a closing HTTP/2 connection reports, are sent again
/// as well, and once at once a GET or HEAD whose connection was closed before the response: mostly an idle connection that the server
/// ended. Other connection errors are not retried: the request may have been processed. A request that failed with credentials that have
/// been exchanged since ([`Client::set_credentials`](crate::Client::set_credentials)) is sent once more with the new ones.
///
/// # Time
/// The delay is the server's `Retry-After`, or without one, an exponential backoff. No retry starts later than 45 s after the
/// first attempt, whatever the server asks for: an outage is not hidden. Its response may take the response timeout longer. Each request
/// has its own count and budget.
///
/// ```
/// use std::time::Duration;
/// use kube_client::client::retry::RetryPolicy;
/// let policy = RetryPolicy::new(Duration::from_millis(100), Duration::from_secs(5), 4, false);
/// assert!(policy.is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    backoff: ExponentialBackoff,
    retries_left: u32,
    retries: u32,
    only_with_retry_after: bool,
    /// The connection was closed before the response, and the request was sent again.
    resent: bool,
    /// It was sent again with other credentials.
    renewed: bool,
    started: Option<Instant>,
}

impl RetryPolicy {
    /// At most `max_retries` retries, with delays that grow from `min_delay` to `max_delay` where the server sends no `Retry-After`.
    /// With `server_retry`, only responses that carry `Retry-After` are retried.
    ///
    /// # Errors
    /// If `min_delay` is more than `max_delay`, or `max_delay` is zero.
    pub fn new(
        min_delay: Duration,
        max_delay: Duration,
        max_retries: u32,
        server_retry: bool,
    ) -> Result<Self, InvalidBackoff> {
        let mut maker = ExponentialBackoffMaker::new(min_delay, max_delay, JITTER, HasherRng::new())?;
        Ok(Self {
            backoff: maker.make_backoff(),
            retries_left: max_retries,
            retries: 0,
            only_with_retry_after: server_retry,
            resent: false,
            renewed: false,
            started: None,
        })
    }

    /// The default of a client: retries where the server sends `Retry-After`, up to ten times.
    pub fn server_retry() -> Self {
        Self::new(MIN_BACKOFF, MAX_BACKOFF, MAX_SERVER_RETRIES, true)
            .expect("invariant: the constants are in order")
    }
}

impl Default for RetryPolicy {
    /// 429, 503 and 504, with or without `Retry-After`, up to fifteen times, 0.5 s to 5 s apart.
    fn default() -> Self {
        Self::new(MIN_BACKOFF, MAX_BACKOFF, MAX_RETRIES, false)
            .expect("invariant: the constants are in order")
    }
}

impl<Res> Policy<Request<Body>, Response<Res>, BoxError> for RetryPolicy {
    type Future = Sleep;

    fn retry(
        &mut self,
        request: &mut Request<Body>,
        result: &mut Result<Response<Res>, BoxError>,
    ) -> Option<Self::Future> {
        let is_outdated = !self.renewed && Outdated::is(result);
        let delay = match result {
            _ if is_outdated => {
                self.renewed = true;
                tokio::time::sleep(Duration::ZERO)
            }
            Ok(response) => match classify(request.method(), response.status(), response.headers()) {
                Retry::Allowed { has_retry_after: false, .. } if self.only_with_retry_after => return None,
                Retry::Allowed { after: Some(delay), .. } => tokio::time::sleep(delay),
                Retry::Allowed { after: None, .. } => self.backoff.next_backoff(),
                Retry::Never => return None,
            },
            // Usually the connection was closing, and another one is available at once.
            Err(err) if err.is::<NotProcessed>() && self.retries == 0 => tokio::time::sleep(Duration::ZERO),
            Err(err) if err.is::<NotProcessed>() => self.backoff.next_backoff(),
            Err(err) if !self.resent && can_resend(request) && closed_before_response(&**err) => {
                self.resent = true;
                tokio::time::sleep(Duration::ZERO)
            }
            Err(_) => return None,
        };
        let started = *self.started.get_or_insert_with(Instant::now);
        if self.retries_left == 0 || delay.deadline() > started + MAX_TOTAL {
            return None;
        }
        self.retries_left -= 1;
        self.retries += 1;
        tracing::Span::current().record("http.request.resend_count", self.retries);
        let code = result.as_ref().ok().map(Response::status);
        if let Some(code) = code {
            metrics::repeated(request, code);
        }
        tracing::debug!(status = code.map(|code| code.as_u16()), delay = ?(delay.deadline() - Instant::now()), "retrying the request");
        Some(delay)
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        self.started.get_or_insert_with(Instant::now);
        try_clone_request(request)
    }
}

const MIN_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
const MAX_RETRIES: u32 = 15;
const MAX_SERVER_RETRIES: u32 = 10;
/// No retry starts later than this after the first attempt, so that a server that refuses every attempt is reported within a minute.
const MAX_TOTAL: Duration = Duration::from_secs(45);
/// Random share that is added to a delay, so that clients that were refused together do not retry together.
const JITTER: f64 = 0.5;

/// Whether a response allows a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retry {
    Never,
    /// A retry is safe and may help, `after` the delay that the server sent.
    Allowed {
        after: Option<Duration>,
        has_retry_after: bool,
    },
}

/// Classifies a response of `status` to a request by `method`.
///
/// With 429, and with 500 and 503 that carry `Retry-After`, the server refused before it did anything: any method is safe to repeat (API
/// servers send 500 with `Retry-After` for the reason `ServerTimeout`). A plain 503 or a 504 may come from a backend after something was
/// written: only reads are safe. A plain 500 is an error of the server, which the caller should see.
fn classify(method: &Method, status: StatusCode, headers: &HeaderMap) -> Retry {
    let has_retry_after = headers.contains_key(RETRY_AFTER);
    let unprocessed = match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::SERVICE_UNAVAILABLE => has_retry_after,
        StatusCode::INTERNAL_SERVER_ERROR if has_retry_after => true,
        StatusCode::GATEWAY_TIMEOUT => false,
        _ => return Retry::Never,
    };
    if unprocessed || is_read(method) {
        Retry::Allowed { after: retry_after(headers), has_retry_after }
    } else {
        Retry::Never
    }
}

/// An upgrade runs a command.
fn can_resend(request: &Request<Body>) -> bool {
    is_read(request.method()) && !request.headers().contains_key(UPGRADE)
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// `Retry-After` in seconds, the only form that Kubernetes sends.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    // A larger number could overflow when it is added to a time.
    (seconds <= 86_400).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use tower::retry::RetryLayer;
    use tower::{ServiceBuilder, ServiceExt, service_fn};

    use super::*;

    /// Sends one request to a server whose responses are all the same; the number of attempts, and the time until the last response.
    async fn against(
        policy: RetryPolicy,
        method: Method,
        status: u16,
        retry_after: Option<&'static str>,
    ) -> (u32, Duration) {
        let attempts = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let counter = attempts.clone();
        let server = service_fn(move |_: Request<Body>| {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let mut response = Response::builder().status(status);
            if let Some(value) = retry_after {
                response = response.header("retry-after", value);
            }
            std::future::ready(Ok::<_, BoxError>(response.body(()).unwrap()))
        });
        let started = Instant::now();
        let request = Request::builder().method(method).body(Body::from(b"x".to_vec())).unwrap();
        let service = ServiceBuilder::new().layer(RetryLayer::new(policy)).service(server);
        let response = service.oneshot(request).await.unwrap();
        assert_eq!(response.status(), status);
        (attempts.load(std::sync::atomic::Ordering::Relaxed), started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn retry_after_is_followed_up_to_the_number_of_retries() {
        let (attempts, time) = against(RetryPolicy::server_retry(), Method::POST, 429, Some("1")).await;
        assert_eq!(attempts, 11);
        assert!((10..12).contains(&time.as_secs()), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_delay_beyond_the_total_is_not_waited_for() {
        for min in [Duration::from_secs(1), Duration::MAX] {
            let mut policy = RetryPolicy::new(min, Duration::MAX, u32::MAX, false).unwrap();
            for _ in 0..200 {
                drop(policy.backoff.next_backoff());
            }
            let (attempts, time) = against(policy, Method::GET, 429, None).await;
            assert_eq!((attempts, time), (1, Duration::ZERO));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_response_is_returned_within_a_minute() {
        for retry_after in ["7", "20", "44"] {
            let (attempts, time) =
                against(RetryPolicy::server_retry(), Method::GET, 503, Some(retry_after)).await;
            assert!(attempts > 1);
            assert!(time <= Duration::from_secs(46), "{retry_after}: {time:?}");
        }
        let (attempts, time) = against(RetryPolicy::server_retry(), Method::GET, 503, Some("50")).await;
        assert_eq!((attempts, time), (1, Duration::ZERO));
        let (attempts, time) = against(RetryPolicy::default(), Method::GET, 503, None).await;
        assert!(attempts > 5 && time <= Duration::from_secs(46), "{attempts} {time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn unsafe_requests_are_not_retried() {
        assert_eq!(against(RetryPolicy::server_retry(), Method::GET, 503, None).await.0, 1);
        assert_eq!(against(RetryPolicy::default(), Method::POST, 503, None).await.0, 1);
        assert_eq!(against(RetryPolicy::default(), Method::GET, 500, None).await.0, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_was_not_processed_is_retried_at_once() {
        for (method, refusals, expected) in
            [(Method::POST, 1, 2), (Method::GET, 3, 4), (Method::POST, 99, 11)]
        {
            let attempts = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
            let counter = attempts.clone();
            let server = service_fn(move |_: Request<Body>| {
                let refused = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < refusals;
                std::future::ready(if refused {
                    Err(BoxError::from(NotProcessed::new()))
                } else {
                    Ok(Response::new(()))
                })
            });
            let started = Instant::now();
            let request = Request::builder().method(method).body(Body::from(b"x".to_vec())).unwrap();
            let retry = RetryLayer::new(RetryPolicy::server_retry());
            let response = ServiceBuilder::new().layer(retry).service(server).oneshot(request).await;
            assert_eq!(response.is_ok(), refusals < 99);
            assert_eq!(attempts.load(std::sync::atomic::Ordering::Relaxed), expected);
            assert!(started.elapsed() < if refusals == 1 { Duration::from_millis(5) } else { MAX_TOTAL });
        }
    }

    #[test]
    fn invalid_delays_are_an_error() {
        assert!(RetryPolicy::new(MAX_BACKOFF, MIN_BACKOFF, 1, false).is_err());
        assert!(RetryPolicy::new(Duration::ZERO, Duration::ZERO, 1, false).is_err());
    }

    fn classified(method: Method, status: u16, retry_after: Option<&str>) -> Retry {
        let mut headers = HeaderMap::new();
        if let Some(value) = retry_after {
            headers.insert(RETRY_AFTER, value.parse().unwrap());
        }
        classify(&method, StatusCode::from_u16(status).unwrap(), &headers)
    }

    fn allowed(after: Option<u64>, has_retry_after: bool) -> Retry {
        Retry::Allowed { after: after.map(Duration::from_secs), has_retry_after }
    }

    #[test]
    fn a_request_refused_before_processing_may_be_retried() {
        assert_eq!(classified(Method::POST, 429, Some("3")), allowed(Some(3), true));
        assert_eq!(classified(Method::POST, 429, None), allowed(None, false));
        assert_eq!(classified(Method::POST, 503, Some("1")), allowed(Some(1), true));
        assert_eq!(classified(Method::POST, 500, Some("1")), allowed(Some(1), true));
    }

    #[test]
    fn a_request_that_may_have_been_processed_is_retried_only_if_it_reads() {
        assert_eq!(classified(Method::POST, 503, None), Retry::Never);
        assert_eq!(classified(Method::PATCH, 504, Some("1")), Retry::Never);
        assert_eq!(classified(Method::GET, 503, None), allowed(None, false));
        assert_eq!(classified(Method::GET, 504, Some("2")), allowed(Some(2), true));
    }

    #[test]
    fn other_codes_are_not_retried() {
        for status in [200, 201, 401, 403, 404, 409, 410, 502] {
            assert_eq!(classified(Method::GET, status, Some("1")), Retry::Never);
        }
        assert_eq!(classified(Method::GET, 500, None), Retry::Never);
    }

    #[test]
    fn a_malformed_retry_after_leaves_the_delay_to_the_backoff() {
        for odd in ["Wed, 21 Oct 2015 07:28:00 GMT", "99999999999999999999", "-1", "86401"] {
            assert_eq!(classified(Method::GET, 429, Some(odd)), allowed(None, true));
        }
    }
}
