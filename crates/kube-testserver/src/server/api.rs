use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;
use tower::Service;

use super::{Body, handle};
use crate::world::World;

/// A Kubernetes API server in the process.
///
/// It is a tower service from any HTTP request to a response: hand it to a client that takes a service, or call it
/// directly. Clones share all state; the state goes with the last clone. There is no background task: garbage
/// collection and the like happen within the request that causes them, and each watch is driven by whoever reads it,
/// on tokio's clock, so paused time moves timeouts and bookmarks.
///
/// Everyone may do everything: there is no authentication.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http_body_util::{BodyExt, Full};
/// use tower::ServiceExt;
///
/// let api = kube_testserver::ApiServer::new();
/// let request = http::Request::get("/api/v1/namespaces/default").body(Full::<bytes::Bytes>::default())?;
/// let response = api.oneshot(request).await?;
/// assert_eq!(response.status(), 200);
/// let namespace: serde_json::Value = serde_json::from_slice(&response.into_body().collect().await?.to_bytes())?;
/// assert_eq!(namespace["status"]["phase"], "Active");
/// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct ApiServer {
    world: Arc<Mutex<World>>,
    /// Its value changes when the watches of this handle (and its clones) are to end.
    cut: Arc<watch::Sender<u64>>,
}

/// Settings of an [`ApiServer`] before it starts.
#[derive(Clone, Debug)]
pub struct Builder {
    history: usize,
}

impl ApiServer {
    /// A server as a new cluster is: the built-in kinds and four namespaces. Takes a few milliseconds.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts with settings of your own.
    pub fn builder() -> Builder {
        Builder { history: 10_000 }
    }

    /// Forgets the history of changes now, as etcd does when it compacts.
    ///
    /// Watches from older resourceVersions get `410 Expired` as an event, older continue tokens and exact lists as a
    /// status. Watches that are up to date go on; one that has not yet read all changes is cut.
    pub fn compact(&self) {
        self.world.lock().store.compact();
    }

    /// Ends every running watch that was started through this handle or its clones, as a restarting server does.
    /// New ones may be started at once.
    pub fn end_watches(&self) {
        self.cut.send_modify(|epoch| *epoch += 1);
    }

    /// The resourceVersion of the newest change.
    pub fn resource_version(&self) -> u64 {
        self.world.lock().store.revision()
    }

    /// A handle on the same state whose watches end on their own.
    pub(crate) fn with_own_watches(&self) -> Self {
        Self { world: self.world.clone(), cut: Arc::new(watch::Sender::new(0)) }
    }

    pub(super) fn world(&self) -> &Arc<Mutex<World>> {
        &self.world
    }

    pub(super) fn cut_signal(&self) -> watch::Receiver<u64> {
        self.cut.subscribe()
    }
}

impl Builder {
    /// How many changes, over all resources, watches can catch up on: 10 000 by default, at least 1. The oldest are
    /// forgotten first. However many are asked for, no more than 64 MB of them are kept.
    #[must_use]
    pub fn history(mut self, changes: usize) -> Self {
        self.history = changes.max(1);
        self
    }

    /// Starts the server.
    pub fn build(self) -> ApiServer {
        let world = Arc::new(Mutex::new(World::new(self.history)));
        ApiServer { world, cut: Arc::new(watch::Sender::new(0)) }
    }
}

impl Default for ApiServer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer")
            .field("resource_version", &self.resource_version())
            .finish_non_exhaustive()
    }
}

impl<B> Service<http::Request<B>> for ApiServer
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(handle::handle(server, request).await) })
    }
}
