//! How a client passes a request to its stack.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceExt};

use crate::body::Body;
use crate::metrics::Waiting;

/// The stack below a client, its types erased.
#[derive(Clone)]
pub(super) enum Sender {
    /// A service that cannot be cloned.
    Shared(Arc<SharedService>),
    /// Each request calls its own clone of the service, without a lock.
    Cloned(Arc<dyn Fn(Request<Body>) -> ResponseFuture + Send + Sync>),
}

/// A service that cannot be cloned. Whether it is ready is asked in the same poll in which it is called: a request whose future is not
/// polled holds neither the service nor a permit of it.
pub(super) struct SharedService {
    service: Mutex<BoxedService>,
    ready: Arc<Ready>,
}

/// Wakes all requests that wait: any of them may never be polled again.
#[derive(Default)]
struct Ready(Notify);

type BoxedService = BoxService<Request<Body>, Response<Body>, BoxError>;

type ResponseFuture = BoxFuture<'static, Result<Response<Body>, BoxError>>;

impl Sender {
    pub(super) fn shared<S>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send + 'static>
            + Send
            + 'static,
    {
        let service = Mutex::new(BoxService::new(service));
        Self::Shared(Arc::new(SharedService { service, ready: Arc::default() }))
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
            (Self::Shared(one), Self::Shared(other)) => Arc::ptr_eq(one, other),
            (Self::Cloned(one), Self::Cloned(other)) => Arc::ptr_eq(one, other),
            (Self::Shared(_), Self::Cloned(_)) | (Self::Cloned(_), Self::Shared(_)) => false,
        }
    }

    pub(super) async fn send(&self, mut request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let waiting = Waiting::start();
        let response = match self {
            Self::Shared(service) => service.call(request, waiting).await?,
            Self::Cloned(send) => {
                waiting.end(&mut request);
                send(request)
            }
        };
        response.await
    }
}

impl SharedService {
    /// Waits until the service is ready, and calls it.
    async fn call(&self, request: Request<Body>, waiting: Waiting) -> Result<ResponseFuture, BoxError> {
        let mut request = Some((request, waiting));
        loop {
            let mut woken = pin!(self.ready.0.notified());
            // From here on it is woken, so also while the service is asked.
            woken.as_mut().enable();
            if let Poll::Ready(called) = self.poll_call(&mut request) {
                // The others are asked for by nobody else now.
                self.ready.0.notify_waiters();
                return called;
            }
            woken.await;
        }
    }

    fn poll_call(
        &self,
        request: &mut Option<(Request<Body>, Waiting)>,
    ) -> Poll<Result<ResponseFuture, BoxError>> {
        let waker = Waker::from(self.ready.clone());
        let mut service = self.service.lock();
        let ready = service.poll_ready(&mut Context::from_waker(&waker));
        ready.map_ok(|()| {
            let (mut request, waiting) = request.take().expect("it is called once");
            waiting.end(&mut request);
            service.call(request)
        })
    }
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.0.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures::FutureExt as _;
    use futures::task::AtomicWaker;

    use super::*;

    /// A service that is ready from some time on, for as many requests at once as there are permits.
    struct Gate {
        open: Arc<(AtomicBool, AtomicWaker)>,
    }

    impl Service<Request<Body>> for Gate {
        type Response = Response<Body>;
        type Error = BoxError;
        type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            self.open.1.register(cx.waker());
            if self.open.0.load(Ordering::SeqCst) { Poll::Ready(Ok(())) } else { Poll::Pending }
        }

        fn call(&mut self, _: Request<Body>) -> Self::Future {
            async { Ok(Response::new(Body::empty())) }.boxed()
        }
    }

    fn request() -> Request<Body> {
        Request::new(Body::empty())
    }

    #[tokio::test]
    async fn a_request_that_is_not_polled_holds_up_no_other() {
        let open = Arc::new((AtomicBool::new(false), AtomicWaker::new()));
        let sender = Sender::shared(Gate { open: open.clone() });
        let mut first = Box::pin(sender.send(request()));
        assert!((&mut first).now_or_never().is_none(), "it waits for the service");
        // As the other arm of a `select!`: it is polled no more while the second one waits.
        let second = tokio::spawn({
            let sender = sender.clone();
            async move { sender.send(request()).await }
        });
        tokio::task::yield_now().await;
        open.0.store(true, Ordering::SeqCst);
        open.1.wake();
        let limit = std::time::Duration::from_secs(10);
        tokio::time::timeout(limit, second).await.expect("the second is answered").unwrap().unwrap();
        tokio::time::timeout(limit, first).await.expect("so is the first").unwrap();
    }

    #[tokio::test]
    async fn all_who_wait_for_the_permits_of_a_service_are_called() {
        // A place is free again when the response was received.
        let service = tower::service_fn(async |_: Request<Body>| {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(Response::new(Body::empty()))
        });
        let service = tower::ServiceBuilder::new()
            .map_err(|never: Infallible| -> BoxError { match never {} })
            .layer(tower::limit::ConcurrencyLimitLayer::new(2))
            .service(service);
        let sender = Sender::shared(service);
        let mut waiting = Box::pin(sender.send(request()));
        assert!((&mut waiting).now_or_never().is_none());
        let all = (0..50).map(|_| {
            let sender = sender.clone();
            tokio::spawn(async move { sender.send(request()).await })
        });
        let all = futures::future::join_all(all.collect::<Vec<_>>());
        let limit = std::time::Duration::from_secs(10);
        for sent in tokio::time::timeout(limit, all).await.expect("one place is left") {
            sent.unwrap().unwrap();
        }
    }
}
