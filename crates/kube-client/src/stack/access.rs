//! The part of a stack that knows where and as whom requests are sent. It is exchanged as a whole while the client is in use.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use http::{Request, Response, StatusCode, Uri};
use parking_lot::{Mutex, RwLock};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt, service_fn};

use super::service::Stack;
use crate::body::Body;
use crate::config::Config;
use crate::error::Error;
use crate::layer::Outdated;
use crate::transport::is_connect;

/// How long a request that failed waits until the source of the configuration has been read again.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// What a client does with its access, whatever its type.
pub(crate) trait Access: Send + Sync {
    /// The configuration in use.
    fn config(&self) -> Config;

    /// The address of the server in use.
    fn address(&self) -> Uri;

    /// Sends requests as now, also after an exchange.
    fn service(&self) -> AccessService;

    /// Prepares the access of `config`. Nothing changes yet.
    fn prepare(self: Arc<Self>, config: Config) -> Result<Box<dyn PreparedAccess>, Error>;

    /// Changes when the client leads to another cluster.
    fn cluster(&self) -> watch::Receiver<u64>;

    /// The number of the cluster that the client leads to.
    fn cluster_number(&self) -> u64;

    /// The requests to read the source of the configuration again, from now on: for whoever follows it.
    fn receive_checks(&self) -> Checks;
}

/// An access that is not in use yet.
pub(crate) trait PreparedAccess: Send {
    /// The configuration that will be in use.
    fn config(&self) -> &Config;

    /// Sends requests by it.
    fn service(&self) -> AccessService;

    /// Uses it for all new requests. `another_cluster`: nothing that is known of the old one holds.
    fn commit(self: Box<Self>, another_cluster: bool);
}

/// How often any client of this process was led to another cluster: a clock that tells what was before such a change and what after.
static CLUSTER_CHANGES: AtomicU64 = AtomicU64::new(0);

/// The time by that clock.
pub(crate) fn cluster_changes() -> u64 {
    CLUSTER_CHANGES.load(Ordering::SeqCst)
}

/// When it was decided by that clock to send a request, or when the reconcile began that sends it: an extension of the request, which
/// copies for further attempts have too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided(pub(crate) u64);

/// The client leads to another cluster than the one that a request is meant for.
#[derive(Debug, Error)]
#[error(
    "the client leads to another cluster since the request, or the reconcile that sends it, began: it is not sent there"
)]
struct NotMeantForCluster;

/// Sends requests by one access.
pub(crate) type AccessService = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// Each is dropped when the source has been read since it was sent. Ends with the last clone of the client.
pub(crate) type Checks = mpsc::UnboundedReceiver<oneshot::Sender<()>>;

/// The access that is in use. Requests in flight, such as watches, keep the one by which they were sent, with its connections.
pub(super) struct CurrentAccess<S> {
    make: Box<Make<S>>,
    current: RwLock<Current<S>>,
    cluster: watch::Sender<u64>,
    /// Asks whoever follows the source of the configuration to read it again. `None` until somebody does.
    checks: Mutex<Option<mpsc::UnboundedSender<oneshot::Sender<()>>>>,
}

type Make<S> = dyn Fn(&Config) -> Result<S, Error> + Send + Sync;

struct Current<S> {
    /// Counts the exchanges.
    epoch: u64,
    /// Since when the client leads to this cluster, by [`CLUSTER_CHANGES`].
    cluster_since: u64,
    config: Config,
    service: S,
}

impl<S: Stack> CurrentAccess<S> {
    pub(super) fn new(
        config: &Config,
        make: impl Fn(&Config) -> Result<S, Error> + Send + Sync + 'static,
    ) -> Result<Arc<Self>, Error> {
        let service = make(config)?;
        let current = RwLock::new(Current { epoch: 0, cluster_since: 0, config: config.clone(), service });
        let checks = Mutex::default();
        Ok(Arc::new(Self { make: Box::new(make), current, cluster: watch::Sender::new(0), checks }))
    }

    /// Sends each request by the access that is in use then.
    pub(super) fn stack(self: &Arc<Self>) -> impl Stack + use<S> {
        let access = Arc::clone(self);
        service_fn(move |request| send(Arc::clone(&access), request))
    }

    fn epoch(&self) -> u64 {
        self.current.read().epoch
    }

    /// Marks the outcome of a request that was sent by the access of `epoch`, if it may succeed by the present one.
    async fn mark_outdated<T>(
        self: Arc<Self>,
        outcome: Result<Response<T>, BoxError>,
        epoch: u64,
        cluster: u64,
    ) -> Result<Response<T>, BoxError> {
        let may_be_outdated = match &outcome {
            Ok(response) => response.status() == StatusCode::UNAUTHORIZED,
            Err(err) => {
                let first: &(dyn std::error::Error + 'static) = &**err;
                iter::successors(Some(first), |&err| err.source()).any(is_connect)
            }
        };
        match may_be_outdated && self.is_exchanged_since(epoch, cluster).await {
            true => Outdated::mark(outcome),
            false => outcome,
        }
    }

    /// Whether the access has been exchanged since `epoch` and leads to the same cluster, after the source has been read again where there
    /// is one. What was meant for one cluster is not sent to another.
    async fn is_exchanged_since(&self, epoch: u64, cluster: u64) -> bool {
        if self.epoch() == epoch {
            let (done, checked) = oneshot::channel();
            // Fails if nobody follows the source (any more).
            let is_asked = self.checks.lock().as_ref().is_some_and(|ask| ask.send(done).is_ok());
            if is_asked {
                let _ = timeout(CHECK_TIMEOUT, checked).await;
            }
        }
        self.epoch() != epoch && *self.cluster.borrow() == cluster
    }
}

/// The future is boxed, because each layer above moves the one of the layer below.
fn send<S: Stack>(
    access: Arc<CurrentAccess<S>>,
    request: Request<Body>,
) -> BoxFuture<'static, Result<Response<S::Body>, BoxError>> {
    let (service, epoch, cluster, cluster_since) = {
        let current = access.current.read();
        if current.epoch > 0 {
            record_server(&current.config);
        }
        (current.service.clone(), current.epoch, *access.cluster.borrow(), current.cluster_since)
    };
    let decided = request.extensions().get::<Decided>();
    if decided.is_some_and(|decided| decided.0 < cluster_since) {
        return ready(Err(NotMeantForCluster.into())).boxed();
    }
    service.oneshot(request).then(move |outcome| access.mark_outdated(outcome, epoch, cluster)).boxed()
}

/// The span of the request was opened for the first server.
fn record_server(config: &Config) {
    let span = tracing::Span::current();
    span.record("server.address", config.cluster_url.host());
    span.record("server.port", config.cluster_url.port_u16());
}

impl<S: Stack> Access for CurrentAccess<S> {
    fn config(&self) -> Config {
        self.current.read().config.clone()
    }

    fn address(&self) -> Uri {
        self.current.read().config.address()
    }

    fn service(&self) -> AccessService {
        erased(self.current.read().service.clone())
    }

    fn prepare(self: Arc<Self>, config: Config) -> Result<Box<dyn PreparedAccess>, Error> {
        let config = self.current.read().config.with_access_of(config);
        let service = (self.make)(&config)?;
        Ok(Box::new(Prepared { access: self, config, service }))
    }

    fn cluster(&self) -> watch::Receiver<u64> {
        self.cluster.subscribe()
    }

    fn cluster_number(&self) -> u64 {
        *self.cluster.borrow()
    }

    fn receive_checks(&self) -> Checks {
        let (ask, asked) = mpsc::unbounded_channel();
        *self.checks.lock() = Some(ask);
        asked
    }
}

struct Prepared<S> {
    access: Arc<CurrentAccess<S>>,
    config: Config,
    service: S,
}

impl<S: Stack> PreparedAccess for Prepared<S> {
    fn config(&self) -> &Config {
        &self.config
    }

    fn service(&self) -> AccessService {
        erased(self.service.clone())
    }

    fn commit(self: Box<Self>, another_cluster: bool) {
        let Self { access, config, service } = *self;
        let old = {
            let mut current = access.current.write();
            let epoch = current.epoch + 1;
            let cluster_since = match another_cluster {
                true => CLUSTER_CHANGES.fetch_add(1, Ordering::SeqCst) + 1,
                false => current.cluster_since,
            };
            let old = std::mem::replace(&mut *current, Current { epoch, cluster_since, config, service });
            // Under the lock: who learns of it sends its next request to the new cluster.
            if another_cluster {
                access.cluster.send_modify(|cluster| *cluster += 1);
            }
            old
        };
        drop(old);
    }
}

fn erased<S: Stack>(service: S) -> AccessService {
    BoxCloneSyncService::new(service.map_response(|response| response.map(Body::wrap)))
}
