use std::time::Duration;

use http::{Request, Response};
use tokio::time::{Instant, Sleep};
use tower::BoxError;
use tower::retry::Policy;
use tower::retry::backoff::{
    Backoff, ExponentialBackoff, ExponentialBackoffMaker, InvalidBackoff, MakeBackoff,
};
use tower::util::rng::HasherRng;

use super::decision::{Verdict, judge};
use crate::body::Body;
use crate::layer::clone_request;
use crate::measure;
use crate::transport::NotTaken;

/// Repeats requests that were answered with 429, 503 or 504: a policy for tower's `RetryLayer`.
///
/// Only what is safe to repeat is repeated: everything that the server turned away before doing anything (429, and 503 with
/// `Retry-After`), otherwise reads. What a closing HTTP/2 connection says that the server has not looked at is sent again as well.
/// Other failures of connections are not repeated: whether the request arrived is not known.
///
/// # Time
/// The delay is the server's `Retry-After`, or where it names none, an exponential backoff. Whatever the server says, the last
/// answer surfaces within 45 s of the first try; an outage is not hidden. Each request has its own count and budget.
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
    repeated: u32,
    only_when_asked: bool,
    started: Option<Instant>,
}

impl RetryPolicy {
    /// At most `max_retries` repetitions, with delays that grow from `min_delay` to `max_delay` where the server names none.
    /// With `server_retry`, only answers that carry `Retry-After` are repeated.
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
            repeated: 0,
            only_when_asked: server_retry,
            started: None,
        })
    }

    /// What a client does by default: repeat what the server asks to repeat, up to ten times.
    pub fn server_retry() -> Self {
        Self::new(MIN_DELAY, MAX_DELAY, MAX_SERVER_RETRIES, true)
            .expect("invariant: the constants are in order")
    }
}

impl Default for RetryPolicy {
    /// 429, 503 and 504, with or without `Retry-After`, up to fifteen times, 0.5 s to 5 s apart.
    fn default() -> Self {
        Self::new(MIN_DELAY, MAX_DELAY, MAX_RETRIES, false).expect("invariant: the constants are in order")
    }
}

impl<Res> Policy<Request<Body>, Response<Res>, BoxError> for RetryPolicy {
    type Future = Sleep;

    fn retry(
        &mut self,
        request: &mut Request<Body>,
        result: &mut Result<Response<Res>, BoxError>,
    ) -> Option<Self::Future> {
        let pause = match result {
            Ok(response) => match judge(request.method(), response.status(), response.headers()) {
                Verdict::Again { asked: false, .. } if self.only_when_asked => return None,
                Verdict::Again { after: Some(delay), .. } => tokio::time::sleep(delay),
                Verdict::Again { after: None, .. } => self.backoff.next_backoff(),
                Verdict::Final => return None,
            },
            // As a rule, a connection was just about to close. Another one is there at once.
            Err(err) if err.is::<NotTaken>() && self.repeated == 0 => tokio::time::sleep(Duration::ZERO),
            Err(err) if err.is::<NotTaken>() => self.backoff.next_backoff(),
            Err(_) => return None,
        };
        let started = *self.started.get_or_insert_with(Instant::now);
        if self.retries_left == 0 || pause.deadline() > started + TOTAL {
            return None;
        }
        self.retries_left -= 1;
        self.repeated += 1;
        tracing::Span::current().record("http.request.resend_count", self.repeated);
        let code = result.as_ref().ok().map(Response::status);
        if let Some(code) = code {
            measure::repeated(request, code);
        }
        tracing::debug!(status = code.map(|code| code.as_u16()), delay = ?(pause.deadline() - Instant::now()), "repeating the request");
        Some(pause)
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        self.started.get_or_insert_with(Instant::now);
        clone_request(request)
    }
}

const MIN_DELAY: Duration = Duration::from_millis(500);
const MAX_DELAY: Duration = Duration::from_secs(5);
const MAX_RETRIES: u32 = 15;
const MAX_SERVER_RETRIES: u32 = 10;
/// No repetition starts later than this after the first try, so that the error surfaces within a minute.
const TOTAL: Duration = Duration::from_secs(45);
/// Part of a delay that may be added by chance, so that those who were turned away together do not come back together.
const JITTER: f64 = 0.5;

#[cfg(test)]
mod tests {
    use http::Method;
    use tower::retry::RetryLayer;
    use tower::{ServiceBuilder, ServiceExt, service_fn};

    use super::*;

    /// Sends one request to a server that always answers the same; how often it was asked, and for how long.
    async fn against(
        policy: RetryPolicy,
        method: Method,
        status: u16,
        retry_after: Option<&'static str>,
    ) -> (u32, Duration) {
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let counter = asked.clone();
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
        (asked.load(std::sync::atomic::Ordering::Relaxed), started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn the_servers_wish_is_followed_up_to_the_count() {
        let (asked, time) = against(RetryPolicy::server_retry(), Method::POST, 429, Some("1")).await;
        assert_eq!(asked, 11);
        assert!((10..12).contains(&time.as_secs()), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn delays_may_be_without_end() {
        for min in [Duration::from_secs(1), Duration::MAX] {
            let mut policy = RetryPolicy::new(min, Duration::MAX, u32::MAX, false).unwrap();
            for _ in 0..200 {
                drop(policy.backoff.next_backoff());
            }
            let (asked, time) = against(policy, Method::GET, 429, None).await;
            assert_eq!((asked, time), (1, Duration::ZERO));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_endless_refusal_surfaces_within_a_minute() {
        for wish in ["7", "20", "44"] {
            let (asked, time) = against(RetryPolicy::server_retry(), Method::GET, 503, Some(wish)).await;
            assert!(asked > 1);
            assert!(time <= Duration::from_secs(46), "{wish}: {time:?}");
        }
        let (asked, time) = against(RetryPolicy::server_retry(), Method::GET, 503, Some("50")).await;
        assert_eq!((asked, time), (1, Duration::ZERO));
        let (asked, time) = against(RetryPolicy::default(), Method::GET, 503, None).await;
        assert!(asked > 5 && time <= Duration::from_secs(46), "{asked} {time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_asked_to_repeat_is_not() {
        assert_eq!(against(RetryPolicy::server_retry(), Method::GET, 503, None).await.0, 1);
        assert_eq!(against(RetryPolicy::default(), Method::POST, 503, None).await.0, 1);
        assert_eq!(against(RetryPolicy::default(), Method::GET, 500, None).await.0, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_server_did_not_take_is_sent_again_at_once() {
        for (method, refusals, expected) in
            [(Method::POST, 1, 2), (Method::GET, 3, 4), (Method::POST, 99, 11)]
        {
            let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
            let counter = asked.clone();
            let server = service_fn(move |_: Request<Body>| {
                let refused = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < refusals;
                std::future::ready(if refused {
                    Err(BoxError::from(NotTaken::new()))
                } else {
                    Ok(Response::new(()))
                })
            });
            let started = Instant::now();
            let request = Request::builder().method(method).body(Body::from(b"x".to_vec())).unwrap();
            let retry = RetryLayer::new(RetryPolicy::server_retry());
            let answer = ServiceBuilder::new().layer(retry).service(server).oneshot(request).await;
            assert_eq!(answer.is_ok(), refusals < 99);
            assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), expected);
            assert!(started.elapsed() < if refusals == 1 { Duration::from_millis(5) } else { TOTAL });
        }
    }

    #[test]
    fn limits_in_the_wrong_order_are_refused() {
        assert!(RetryPolicy::new(MAX_DELAY, MIN_DELAY, 1, false).is_err());
        assert!(RetryPolicy::new(Duration::ZERO, Duration::ZERO, 1, false).is_err());
    }
}
