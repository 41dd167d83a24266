//! [`Client`] itself: its constructors, and sending a request.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use tower::{BoxError, Service, ServiceExt};

use super::follower::follow;
use super::sender::Sender;
use super::shared_access::ClientAccess;
use super::unsupported::Unsupported;
use crate::Result;
use crate::body::{Body, from_transport};
use crate::config::{Config, DEFAULT_COLLECT_LIMIT, DEFAULT_NAMESPACE, Kubeconfig};
use crate::error::Error;
use crate::reconcile;
use crate::stack::{Decided, Stack, WithAccess, cluster_changes, compose, compose_over};

/// Sends requests to one API server, as one user.
///
/// # Cost
/// Cloning is cheap, and all clones share connections and credentials. There is no task and no queue: the caller's task passes the
/// request to the stack. (If the configuration has to [follow](Config::follow) its source, one task does so, from the first request until
/// the last clone is dropped.)
///
/// # Cancellation
/// Dropping the future of a call cancels the request.
#[derive(Clone)]
pub struct Client {
    sender: Sender,
    default_namespace: Arc<str>,
    valid_until: Option<Timestamp>,
    /// Most bytes of a response that are collected.
    collect_limit: usize,
    /// `None` over a service of the program.
    pub(super) access: Option<Arc<ClientAccess>>,
    pub(super) unsupported: Unsupported,
    /// Whether the stack reads compressed events, each when it arrives. Layers of programs may not.
    pub(super) reads_compressed_events: bool,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("default_namespace", &self.default_namespace)
            .field("valid_until", &self.valid_until)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client over any service: a stack other than the default one, or a mock server in tests.
    ///
    /// ```
    /// use http::{Request, Response};
    /// use kube_client::{Client, client::Body};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let server = tower::service_fn(|request: Request<Body>| async move {
    ///     let text = format!("{{\"path\":\"{}\"}}", request.uri().path());
    ///     Ok::<_, std::io::Error>(Response::new(Body::from(text.into_bytes())))
    /// });
    /// let client = Client::new(server, "default");
    /// let response: serde_json::Value = client.request(Request::get("/version").body(vec![]).unwrap()).await.unwrap();
    /// assert_eq!(response["path"], "/version");
    /// # });
    /// ```
    pub fn new<S, B, T>(service: S, default_namespace: T) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
        T: Into<String>,
    {
        let service = service.map_response(|response| response.map(Body::wrap)).map_err(Into::into);
        Self::with_sender(Sender::locked(service), default_namespace)
    }

    /// A client with all layers of a client made from `config` over a service instead of connections: retries, time limits, credentials,
    /// headers, metrics and spans are those of a real client. For tests against a server in the same process; unlike over a socket,
    /// paused tokio time works. Settings of connections (TLS, proxies) have no effect.
    ///
    /// Each request waits until a clone of `transport` of its own is ready, then calls it; the wait counts for the time limits. Dropping
    /// the future of a call drops the clone and its response.
    ///
    /// # Errors
    /// If the credentials or headers of the configuration cannot be used.
    ///
    /// ```
    /// use http::{Request, Response, StatusCode, header::RETRY_AFTER};
    /// use kube_client::{Client, Config, client::Body};
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
    /// // The first response is 429.
    /// static CALLS: AtomicU32 = AtomicU32::new(0);
    /// let server = tower::service_fn(async |_: Request<Body>| {
    ///     let busy = CALLS.fetch_add(1, Ordering::Relaxed) == 0;
    ///     let code = if busy { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
    ///     let response = Response::builder().status(code).header(RETRY_AFTER, "1");
    ///     Ok::<_, std::convert::Infallible>(response.body(Body::from(b"{}".to_vec())).unwrap())
    /// });
    /// let config = Config::new("http://server".parse().unwrap());
    /// let client = Client::with_transport(&config, server).unwrap();
    /// let _: serde_json::Value = client.request(Request::get("/version").body(vec![]).unwrap()).await.unwrap();
    /// assert_eq!(CALLS.load(Ordering::Relaxed), 2);
    /// # });
    /// ```
    pub fn with_transport<S, B>(config: &Config, transport: S) -> Result<Self>
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let stack = compose_over(config, transport.map_err(Into::into))?;
        let client = Self::of_stack(stack, config.default_namespace.clone());
        Ok(client.with_collect_limit(config.collect_limit))
    }

    /// A client over a stack whose clones share connections and credentials.
    pub(crate) fn of_stack(
        (stack, access): WithAccess<impl Stack>,
        default_namespace: impl Into<String>,
    ) -> Self {
        let service = stack.map_response(|response| response.map(Body::wrap));
        let client = Self::with_sender(Sender::cloned(service), default_namespace);
        let reads_compressed_events = cfg!(feature = "gzip");
        Self { reads_compressed_events, ..client }.with_access(Some(ClientAccess::new(access)))
    }

    pub(super) fn with_access(self, access: Option<Arc<ClientAccess>>) -> Self {
        Self { access, ..self }
    }

    pub(super) fn with_sender(sender: Sender, default_namespace: impl Into<String>) -> Self {
        let namespace = default_namespace.into();
        Self {
            sender,
            default_namespace: if namespace.is_empty() { DEFAULT_NAMESPACE.into() } else { namespace.into() },
            valid_until: None,
            collect_limit: DEFAULT_COLLECT_LIMIT,
            access: None,
            unsupported: Unsupported::default(),
            reads_compressed_events: false,
        }
    }

    /// A client for the cluster that [`Config::infer`] finds.
    ///
    /// # Errors
    /// If there is no configuration, or it cannot be used. No connection is opened yet.
    pub async fn try_default() -> Result<Self> {
        Self::try_from(Config::infer().await.map_err(Error::InferConfig)?)
    }

    /// The default namespace of requests. Never empty, which would be all namespaces: `default` instead.
    pub fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    /// Whether both clients share one stack: `other` was cloned from this one, or this one from it.
    #[doc(hidden)]
    pub fn is_clone_of(&self, other: &Self) -> bool {
        self.sender.is_clone_of(&other.sender)
    }

    /// When the client's credentials expire for good, if that is known.
    pub fn valid_until(&self) -> &Option<Timestamp> {
        &self.valid_until
    }

    /// Sets the time at which the credentials expire for good. It is informational only.
    pub fn with_valid_until(self, valid_until: Option<Timestamp>) -> Self {
        Self { valid_until, ..self }
    }

    /// Sets the most bytes of a response that are collected.
    pub(crate) fn with_collect_limit(self, collect_limit: usize) -> Self {
        Self { collect_limit, ..self }
    }

    /// Sends a request unchanged and returns the response unchanged, whatever its status.
    ///
    /// The default stack uses only path and query of the URL.
    ///
    /// ```
    /// use http::Request;
    /// use kube_client::Client;
    /// use kube_client::client::Body;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let response = client.send(Request::get("/no/such/path").body(Body::empty())?).await?;
    /// assert_eq!(response.status(), 404, "not an error");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If there is no response: [`Error::Service`], [`Error::HyperError`] or [`Error::Auth`].
    pub async fn send(&self, mut request: Request<Body>) -> Result<Response<Body>> {
        reconcile::mark(&mut request);
        if let Some(access) = &self.access {
            follow(access);
            request.extensions_mut().insert(Decided(reconcile::began().unwrap_or_else(cluster_changes)));
        }
        let response = self.sender.send(request).await.map_err(from_transport)?;
        Ok(response.map(|body| body.with_collect_limit(self.collect_limit)))
    }
}

impl TryFrom<Config> for Client {
    type Error = Error;

    /// A client with the default stack for `config`. No connection is opened yet. Has to be called within a tokio runtime.
    fn try_from(config: Config) -> Result<Self> {
        let stack = compose(&config, TokioExecutor::new())?;
        Ok(Self::of_stack(stack, config.default_namespace).with_collect_limit(config.collect_limit))
    }
}

impl TryFrom<Kubeconfig> for Client {
    type Error = Error;

    /// A client with the default stack for the kubeconfig's current context.
    fn try_from(kubeconfig: Kubeconfig) -> Result<Self> {
        Self::try_from(Config::try_from(kubeconfig)?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tower::limit::ConcurrencyLimit;
    use tower_test::mock;

    use super::*;

    fn request(path: &str) -> Request<Body> {
        Request::get(path).body(Body::empty()).unwrap()
    }

    #[test]
    fn the_future_of_try_default_may_be_shared_and_caught() {
        fn check<T: Send + Sync + std::panic::UnwindSafe>(_: &impl Fn() -> T) {}
        check(&Client::try_default);
    }

    #[tokio::test]
    async fn several_requests_are_in_flight_at_once() {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        let client = Client::new(service, "default");
        let first = tokio::spawn({
            let client = client.clone();
            async move { client.send(request("/1")).await }
        });
        let (_, respond_first) = handle.next_request().await.unwrap();
        let second = tokio::spawn(async move { client.send(request("/2")).await });
        let (seen, respond_second) = handle.next_request().await.unwrap();
        assert_eq!(seen.uri().path(), "/2");
        respond_second.send_response(Response::new(Body::empty()));
        second.await.unwrap().unwrap();
        respond_first.send_response(Response::new(Body::empty()));
        first.await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_call_does_not_block_others() {
        let slow = tower::service_fn(|_: Request<Body>| async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok::<_, BoxError>(Response::new(Body::empty()))
        });
        let client = Client::new(ConcurrencyLimit::new(slow, 1), "default");
        let first = tokio::spawn({
            let client = client.clone();
            async move { client.send(request("/1")).await }
        });
        tokio::task::yield_now().await;
        let cancelled = tokio::time::timeout(Duration::from_secs(1), client.send(request("/2"))).await;
        assert!(cancelled.is_err());
        let third = tokio::time::timeout(Duration::from_secs(30), client.send(request("/3"))).await;
        assert!(third.unwrap().is_ok());
        first.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn errors_of_layers_keep_their_kind() {
        let failing = tower::service_fn(|_: Request<Body>| async {
            Err::<Response<Body>, BoxError>(crate::auth::AuthError::MissingCommand.into())
        });
        let err = Client::new(failing, "default").send(request("/")).await.unwrap_err();
        assert!(matches!(err, Error::Auth(crate::auth::AuthError::MissingCommand)));
        let failing = tower::service_fn(|_: Request<Body>| async {
            Err::<Response<Body>, BoxError>("no route".into())
        });
        let err = Client::new(failing, "default").send(request("/")).await.unwrap_err();
        assert!(matches!(err, Error::Service(cause) if cause.to_string() == "no route"));
    }
}
