//! How a client passes a request to its stack.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use tokio::sync::Mutex;
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceExt};

use crate::body::Body;
use crate::metrics::Waiting;
use crate::task::in_task_of_runtime;

/// The stack below a client, its types erased.
#[derive(Clone)]
pub(super) enum Sender {
    /// A service that cannot be cloned. The lock is held until it accepts a request, not while the response is awaited.
    Locked(Arc<Mutex<BoxedService>>),
    /// Each request calls its own clone of the service, without a lock.
    Cloned(Arc<dyn Fn(Request<Body>) -> ResponseFuture + Send + Sync>),
}

type BoxedService = BoxService<Request<Body>, Response<Body>, BoxError>;

type ResponseFuture = BoxFuture<'static, Result<Response<Body>, BoxError>>;

impl Sender {
    pub(super) fn locked<S>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send + 'static>
            + Send
            + 'static,
    {
        Self::Locked(Arc::new(Mutex::new(BoxService::new(service))))
    }

    pub(super) fn cloned<S>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send + 'static>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        Self::Cloned(Arc::new(move |request| service.clone().oneshot(request).boxed()))
    }

    pub(super) fn is_clone_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Locked(one), Self::Locked(other)) => Arc::ptr_eq(one, other),
            (Self::Cloned(one), Self::Cloned(other)) => Arc::ptr_eq(one, other),
            (Self::Locked(_), Self::Cloned(_)) | (Self::Cloned(_), Self::Locked(_)) => false,
        }
    }

    pub(super) async fn send(&self, mut request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let waiting = Waiting::start();
        let response = match self {
            Self::Locked(service) => call_when_ready(service, request, waiting).await?,
            Self::Cloned(send) => {
                waiting.end(&mut request);
                send(request)
            }
        };
        response.await
    }
}

/// Calls the service once it is ready.
///
/// A task waits for that where there is a runtime: a caller that is not polled must keep neither the lock nor its place among those that
/// wait for it. Dropping this future ends the task.
async fn call_when_ready(
    service: &Arc<Mutex<BoxedService>>,
    mut request: Request<Body>,
    waiting: Waiting,
) -> Result<ResponseFuture, BoxError> {
    if let Ok(mut service) = service.try_lock()
        && let Poll::Ready(ready) = service.poll_ready(&mut Context::from_waker(Waker::noop()))
    {
        ready?;
        waiting.end(&mut request);
        return Ok(service.call(request));
    }
    let service = Arc::clone(service);
    let called = async move {
        let mut service = service.lock().await;
        // Held from `poll_ready` to `call`: another caller must not use the permit that `poll_ready` reserved.
        poll_fn(|cx| service.poll_ready(cx)).await?;
        waiting.end(&mut request);
        Ok(service.call(request))
    };
    let ended_early = || Err("the task that waits for the service ended early".into());
    in_task_of_runtime(called).await.unwrap_or_else(ended_early)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::poll;
    use tokio::time::{Instant, timeout};
    use tower::limit::RateLimit;
    use tower::limit::rate::Rate;
    use tower::service_fn;

    use super::*;

    /// Accepts one request a second.
    fn one_a_second() -> Sender {
        let service =
            service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(Response::new(Body::empty())) });
        Sender::locked(RateLimit::new(service, Rate::new(1, Duration::from_secs(1))))
    }

    fn request() -> Request<Body> {
        Request::new(Body::empty())
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_not_polled_does_not_keep_the_service_from_others() {
        let sender = one_a_second();
        sender.send(request()).await.unwrap();
        let mut unpolled = Box::pin(sender.send(request()));
        assert!(poll!(&mut unpolled).is_pending());
        timeout(Duration::from_secs(5), sender.send(request())).await.expect("it is sent").unwrap();
        assert!(poll!(&mut unpolled).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_request_leaves_its_place_and_is_not_sent() {
        let sender = one_a_second();
        sender.send(request()).await.unwrap();
        let started = Instant::now();
        for _ in 0..3 {
            assert!(timeout(Duration::from_millis(10), sender.send(request())).await.is_err());
        }
        sender.send(request()).await.unwrap();
        assert!(started.elapsed() < Duration::from_millis(1_500), "{:?}", started.elapsed());
    }

    /// Without a runtime there are no tasks.
    #[test]
    fn a_service_that_is_ready_needs_no_runtime() {
        let service =
            service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(Response::new(Body::empty())) });
        let sender = Sender::locked(service);
        assert!(sender.send(request()).now_or_never().unwrap().is_ok());
    }
}
