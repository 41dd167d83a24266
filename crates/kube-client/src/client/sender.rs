//! How a client passes a request to its stack.

use std::future::poll_fn;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use tokio::sync::Mutex;
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceExt};

use crate::body::Body;
use crate::metrics::Waiting;

/// The stack below a client, its types erased.
#[derive(Clone)]
pub(super) enum Sender {
    /// A service that cannot be cloned. The lock is held to call it, not while the response is awaited.
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
            Self::Locked(service) => {
                let mut service = service.lock().await;
                // Held from `poll_ready` to `call`: another caller must not use the permit that `poll_ready` reserved.
                poll_fn(|cx| service.poll_ready(cx)).await?;
                waiting.end(&mut request);
                service.call(request)
            }
            Self::Cloned(send) => {
                waiting.end(&mut request);
                send(request)
            }
        };
        response.await
    }
}
