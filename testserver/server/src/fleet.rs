//! [`TestFleet`]: several servers behind one service, chosen by the host of the request.

use std::{
    collections::BTreeMap,
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use parking_lot::Mutex;
use tower::{Service, ServiceExt};

use crate::{ApiServer, Body};

/// Several servers in the process, as many clusters: a tower service that passes a request to the server with the name of its host. Clones
/// are the same fleet.
///
/// Each server has [faults](ApiServer::fault) of its own. A name without a server refuses connections.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http_body_util::Full;
/// use kube_testserver::{Fault, Match, TestFleet};
/// use tower::ServiceExt;
///
/// let fleet = TestFleet::new(["east", "west"]);
/// fleet.server("west").unwrap().fault(Match::any(), Fault::status(503, "ServiceUnavailable"));
/// let status = async |host: &str| {
///     let request = http::Request::get(format!("https://{host}/version")).body(Full::<bytes::Bytes>::default()).unwrap();
///     fleet.clone().oneshot(request).await.map(|response| response.status().as_u16())
/// };
/// assert_eq!((status("east").await?, status("west").await?), (200, 503));
/// assert!(status("north").await.is_err());
/// # Ok::<_, std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct TestFleet(Arc<Mutex<BTreeMap<String, ApiServer>>>);

impl TestFleet {
    /// A new, empty server for each name, which has to be a host of a URL.
    pub fn new(names: impl IntoIterator<Item: Into<String>>) -> Self {
        let servers = names.into_iter().map(|name| (name.into(), ApiServer::new()));
        Self(Arc::new(Mutex::new(servers.collect())))
    }

    /// The server of this name.
    pub fn server(&self, name: &str) -> Option<ApiServer> {
        self.0.lock().get(name).cloned()
    }

    /// Requests for this name go to `server` from now on. Watches of the server that had the name end.
    pub fn insert(&self, name: impl Into<String>, server: ApiServer) {
        if let Some(before) = self.0.lock().insert(name.into(), server) {
            before.end_watches();
        }
    }

    /// Takes the server of this name away: its watches end, and connections are refused from now on. [`insert`](Self::insert) brings it
    /// back.
    pub fn remove(&self, name: &str) -> Option<ApiServer> {
        let server = self.0.lock().remove(name);
        server.inspect(ApiServer::end_watches)
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }
}

impl<B> Service<http::Request<B>> for TestFleet
where
    B: http_body::Body<Data = Bytes, Error: fmt::Display> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let server = request.uri().host().and_then(|host| self.server(host));
        Box::pin(async move {
            match server {
                Some(server) => server.oneshot(request).await,
                None => Err(io::ErrorKind::ConnectionRefused.into()),
            }
        })
    }
}

impl fmt::Debug for TestFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestFleet").field(&self.names()).finish()
    }
}
