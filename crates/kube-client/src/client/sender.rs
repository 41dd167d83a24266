//! How a client hands its requests over.

use std::future::poll_fn;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use tokio::sync::Mutex;
use tower::util::BoxService;
use tower::{BoxError, Service, ServiceExt};

use crate::body::Body;
use crate::measure::Waiting;

/// The layers below a client.
#[derive(Clone)]
pub(super) enum Sender {
    /// There is one service. It is locked to hand over a request, never while an answer is awaited.
    Alone(Arc<Mutex<Layers>>),
    /// Each request has a copy of its own, so nobody waits for a lock.
    Shared(Arc<dyn Fn(Request<Body>) -> Sent + Send + Sync>),
}

/// All layers, their types erased.
type Layers = BoxService<Request<Body>, Response<Body>, BoxError>;

/// An answer on its way.
type Sent = BoxFuture<'static, Result<Response<Body>, BoxError>>;

impl Sender {
    pub(super) fn alone<S>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send + 'static>
            + Send
            + 'static,
    {
        Self::Alone(Arc::new(Mutex::new(BoxService::new(service))))
    }

    pub(super) fn shared<S>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = BoxError, Future: Send + 'static>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        Self::Shared(Arc::new(move |request| service.clone().oneshot(request).boxed()))
    }

    pub(super) async fn send(&self, mut request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let waiting = Waiting::start();
        let sent = match self {
            Self::Alone(service) => {
                let mut service = service.lock().await;
                // The guard is held from ready to call, so nobody else takes the place that was polled for.
                poll_fn(|cx| service.poll_ready(cx)).await?;
                waiting.end(&mut request);
                service.call(request)
            }
            Self::Shared(send) => {
                waiting.end(&mut request);
                send(request)
            }
        };
        sent.await
    }
}
