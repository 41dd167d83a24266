//! The part of a stack that knows where and as whom requests are sent. It is exchanged as a whole while the client is in use.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode, Uri};
use parking_lot::{Mutex, RwLock};
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

    /// The requests to read the source of the configuration again; `None` if nobody follows it, and the second time.
    fn take_checks(&self) -> Option<Checks>;
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

/// Sends requests by one access.
pub(crate) type AccessService = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// Each is dropped when the source has been read since it was sent. Ends with the last clone of the client.
pub(crate) type Checks = mpsc::UnboundedReceiver<oneshot::Sender<()>>;

/// The access that is in use. Requests in flight, such as watches, keep the one by which they were sent, with its connections.
pub(super) struct CurrentAccess<S> {
    make: Box<Make<S>>,
    current: RwLock<Current<S>>,
    cluster: watch::Sender<u64>,
    /// If the configuration follows its source.
    checks: Option<AskForCheck>,
}

type Make<S> = dyn Fn(&Config) -> Result<S, Error> + Send + Sync;

/// Asks whoever follows the source to read it again.
struct AskForCheck {
    ask: mpsc::UnboundedSender<oneshot::Sender<()>>,
    /// Until somebody follows it.
    asked: Mutex<Option<Checks>>,
}

struct Current<S> {
    /// Counts the exchanges.
    epoch: u64,
    config: Config,
    service: S,
}

impl<S: Stack> CurrentAccess<S> {
    pub(super) fn new(
        config: &Config,
        make: impl Fn(&Config) -> Result<S, Error> + Send + Sync + 'static,
    ) -> Result<Arc<Self>, Error> {
        let current = RwLock::new(Current { epoch: 0, config: config.clone(), service: make(config)? });
        let checks = config.followed().map(|_| {
            let (ask, asked) = mpsc::unbounded_channel();
            AskForCheck { ask, asked: Mutex::new(Some(asked)) }
        });
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

    /// Whether the access has been exchanged since `epoch` and leads to the same cluster, after the source has been read again where there
    /// is one. What was meant for one cluster is not sent to another.
    async fn is_exchanged_since(&self, epoch: u64, cluster: u64) -> bool {
        if self.epoch() == epoch
            && let Some(checks) = &self.checks
        {
            let (done, checked) = oneshot::channel();
            // Fails if nobody follows the source (any more).
            if checks.ask.send(done).is_ok() {
                let _ = timeout(CHECK_TIMEOUT, checked).await;
            }
        }
        self.epoch() != epoch && *self.cluster.borrow() == cluster
    }
}

async fn send<S: Stack>(
    access: Arc<CurrentAccess<S>>,
    request: Request<Body>,
) -> Result<Response<S::Body>, BoxError> {
    let (service, epoch, cluster) = {
        let current = access.current.read();
        if current.epoch > 0 {
            record_server(&current.config);
        }
        (current.service.clone(), current.epoch, *access.cluster.borrow())
    };
    let outcome = service.oneshot(request).await;
    let may_be_outdated = match &outcome {
        Ok(response) => response.status() == StatusCode::UNAUTHORIZED,
        Err(err) => {
            let first: &(dyn std::error::Error + 'static) = &**err;
            iter::successors(Some(first), |&err| err.source()).any(is_connect)
        }
    };
    match may_be_outdated && access.is_exchanged_since(epoch, cluster).await {
        true => Outdated::mark(outcome),
        false => outcome,
    }
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

    fn take_checks(&self) -> Option<Checks> {
        self.checks.as_ref()?.asked.lock().take()
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
            let old = std::mem::replace(&mut *current, Current { epoch, config, service });
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
