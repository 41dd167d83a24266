//! The handle of a server: faults, clock, snapshots, users.

use std::{error::Error, fmt, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, request::Parts};
use http_body_util::Full;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use tower::Service;

use super::observer::Observer;
use crate::{
    backend::{ServiceBackend, ServicePort},
    clock::Clock,
    cluster::{ClusterState, Settings},
    fault::{Fault, FaultRule, FaultRules, Match},
    manifest::{self, LoadError, Manifests},
    pods::{Kubelet, StreamConnections},
    rbac::{TokenSigner, User},
    route::RequestInfo,
    secret::Secret,
    storage::DataError,
};

/// An in-process Kubernetes API server.
///
/// A tower service from HTTP requests to responses: pass it to a client that takes a service, or call it directly. Clones share all state,
/// which is dropped with the last clone. There is no background task: controllers run within the request that triggers them, and a watch is
/// driven by its reader on tokio's clock, so paused time moves timeouts and bookmarks.
///
/// Everything is permitted, unless [`Builder::with_rbac`](crate::Builder::with_rbac) enforces RBAC. The service and its bodies fail only
/// where a [`fault`](Self::fault) breaks the connection.
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
    cluster: Arc<Mutex<ClusterState>>,
    faults: FaultRules,
    /// The user of requests through this handle without credentials.
    identity: Arc<User>,
    observer: Option<Observer>,
    /// Changes when the watches of this handle and its clones have to end.
    cut: Arc<watch::Sender<u64>>,
    /// Upgraded connections that were made through this handle and its clones.
    connections: Arc<StreamConnections>,
    kubelet: Kubelet,
    /// What the state was configured with.
    settings: Arc<Settings>,
}

/// A server cannot rewind to a resourceVersion that is older than its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot rewind to resourceVersion {requested}: the history begins at {oldest}")]
pub struct RewindError {
    /// The requested resourceVersion.
    pub requested: u64,
    /// The oldest resourceVersion in the history.
    pub oldest: u64,
}

impl ApiServer {
    /// A server with the built-in kinds, four namespaces and the service `kubernetes`. Takes a few milliseconds.
    pub fn new() -> Self {
        Self::with_settings(Settings::default())
    }

    pub(crate) fn with_settings(settings: Settings) -> Self {
        let user = if settings.rbac { User::admin() } else { User::system_admin() };
        let cluster = ClusterState::new(settings.clone());
        let kubelet = cluster.kubelet.clone();
        let (cluster, cut) = (Arc::new(Mutex::new(cluster)), Arc::new(watch::Sender::new(0)));
        let identity = Arc::new(user.with_implicit_group());
        let (faults, connections) = (FaultRules::default(), Arc::new(StreamConnections::new()));
        let settings = Arc::new(settings);
        Self { cluster, faults, identity, observer: None, cut, connections, kubelet, settings }
    }

    /// Injects a fault into matching requests from now on, through any handle or socket. If several rules match a request, the one added
    /// first applies.
    ///
    /// ```
    /// use kube_testserver::{ApiServer, Fault, Match};
    /// use k8s_openapi::api::core::v1::Pod;
    ///
    /// let server = ApiServer::new();
    /// let cut = server.fault(Match::watch::<Pod>().nth(2), Fault::Cut.after(3));
    /// // ... run what is under test ...
    /// assert_eq!(cut.hits(), 0);
    /// ```
    pub fn fault(&self, matching: Match, fault: impl Into<Fault>) -> FaultRule {
        self.faults.add(matching, fault.into())
    }

    /// Removes all faults. Faults in progress continue: a stalled request stays stalled.
    pub fn clear_faults(&self) {
        self.faults.clear();
    }

    /// What the state was configured with.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether every change is journaled in this directory, and waits for the disk if `synced`.
    pub(crate) fn is_kept_in(&self, dir: &Path, synced: bool) -> bool {
        self.cluster.lock().is_kept_in(dir, synced)
    }

    /// Loads the state in a data directory and journals every change there.
    pub(crate) fn open_data_dir(&self, dir: &Path, synced: bool) -> Result<(), DataError> {
        self.cluster.lock().open_data_dir(dir, synced)
    }

    /// Creates objects as a client would, CRDs and namespaces first, and keeps their `status`. An existing object is replaced. Namespaced
    /// objects without a namespace go to `default`.
    ///
    /// [`LoadError`] names the first object that cannot be read or is rejected; the ones before it are created.
    pub fn load(&self, objects: impl Into<Manifests>) -> Result<(), LoadError> {
        manifest::load(&mut self.cluster.lock(), objects.into())
    }

    /// All objects as YAML, one document each, with uids and resourceVersions, after an empty `List` with the resourceVersion of the
    /// server. [`restore`](Self::restore) and [`Builder::with_snapshot`](crate::Builder::with_snapshot) read it back.
    ///
    /// ```
    /// use kube_testserver::ApiServer;
    ///
    /// let server = ApiServer::new();
    /// server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")?;
    /// let copy = ApiServer::new();
    /// copy.restore(server.snapshot())?;
    /// assert_eq!(copy.snapshot(), server.snapshot());
    /// # Ok::<_, kube_testserver::LoadError>(())
    /// ```
    pub fn snapshot(&self) -> String {
        manifest::take(&self.cluster.lock())
    }

    /// The objects of a resource in all namespaces, by namespace and name, as they are stored: of custom resources in the storage version.
    /// `None` when the server has no such group and plural, so that no test takes a slip for an empty list. Copies each object.
    ///
    /// ```
    /// let server = kube_testserver::ApiServer::new();
    /// server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")?;
    /// assert_eq!(server.objects("", "configmaps").unwrap()[0]["metadata"]["name"], "a");
    /// assert!(server.objects("v1", "configmaps").is_none(), "the core group has no name");
    /// # Ok::<_, kube_testserver::LoadError>(())
    /// ```
    pub fn objects(&self, group: &str, plural: &str) -> Option<Vec<Value>> {
        let cluster = self.cluster.lock();
        let table = cluster.scheme().by_plural(group, plural)?.resource.table;
        Some(cluster.store().objects(table, None).map(|stored| stored.value()).collect())
    }

    /// Replaces the whole state by a snapshot without validating it. Every watch ends, and the history is empty. Controllers go on where
    /// they were: terminating namespaces are emptied, dependents of missing owners are deleted. Objects without a uid or a resourceVersion,
    /// as in a file that was written by hand, get them.
    ///
    /// [`LoadError`] when it is not a snapshot; the state is then unchanged.
    pub fn restore(&self, snapshot: impl Into<Manifests>) -> Result<(), LoadError> {
        manifest::restore(&mut self.cluster.lock(), snapshot.into())
    }

    /// Advances the server's clock: timestamps, watch timeouts, bookmarks, delays, expiry of tokens and Events, deadlines of Jobs and
    /// Deployments. Tasks that become due have run when this returns. The clock also follows tokio's, so paused time moves it as well.
    pub fn advance(&self, by: Duration) {
        self.clock().advance(by);
        self.cluster.lock().run_due_tasks();
    }

    /// Drops the history, as etcd does when it compacts.
    ///
    /// Watches from older resourceVersions get `410 Expired` as an event, older continue tokens and exact lists as a status. Watches that
    /// are up to date continue; a watch that has not read all changes ends.
    pub fn compact(&self) {
        self.cluster.lock().compact();
    }

    /// Restores an earlier resourceVersion, like a cluster whose etcd is restored from a backup: objects are as they were, later changes
    /// never happened, and revisions continue from there. Every watch ends, continue tokens expire, the history is empty, and controllers
    /// go on from the restored state.
    ///
    /// A client may then hold a resourceVersion from the future.
    ///
    /// ```
    /// use kube_testserver::ApiServer;
    ///
    /// let server = ApiServer::new();
    /// let backup = server.resource_version();
    /// server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")?;
    /// server.rewind(backup)?;
    /// assert_eq!(server.resource_version(), backup);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// When the resourceVersion is older than the history; nothing is changed then.
    pub fn rewind(&self, resource_version: u64) -> Result<(), RewindError> {
        let rewound = self.cluster.lock().rewind(resource_version);
        rewound.map_err(|old| RewindError { requested: resource_version, oldest: old.oldest })
    }

    /// Ends every running watch that was started through this handle or its clones, as a restarting server does. New watches may be started
    /// at once.
    pub fn end_watches(&self) {
        self.cut.send_modify(|epoch| *epoch += 1);
    }

    /// The resourceVersion of the newest change.
    pub fn resource_version(&self) -> u64 {
        self.cluster.lock().store().revision()
    }

    /// A handle on the same state whose requests without credentials come from `user`. Without RBAC
    /// ([`Builder::with_rbac`](crate::Builder::with_rbac)), the user is permitted everything, and only reviews and webhooks see it. Other
    /// handles act as an administrator: `admin` with RBAC, else `system:admin`.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use http_body_util::Full;
    /// use kube_testserver::{ApiServer, User};
    /// use tower::ServiceExt;
    ///
    /// let server = ApiServer::builder().with_rbac().service()?;
    /// let request = || http::Request::get("/api/v1/pods").body(Full::<bytes::Bytes>::default()).unwrap();
    /// assert_eq!(server.clone().oneshot(request()).await?.status(), 200);
    /// assert_eq!(server.as_user(User::new("ann")).oneshot(request()).await?.status(), 403);
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn as_user(&self, user: User) -> Self {
        Self { identity: Arc::new(user.with_implicit_group()), ..self.clone() }
    }

    /// Lets a tower service in this process answer the calls of webhooks, for admission and conversion, whose `clientConfig` names this
    /// service and port: without sockets, TLS and the objects of the service, and with timeouts on tokio's clock, so that paused time moves
    /// them. Calls go to the network again when the result is dropped. A later backend of the same port takes the place of this one.
    ///
    /// An [`io::Error`](std::io::Error) of the kind `ConnectionRefused` is told as such, a panic as a connection that breaks. Redirects are
    /// not followed.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http_body_util::Full;
    /// use kube_testserver::ApiServer;
    ///
    /// let answer = |_request| async { Ok::<_, std::io::Error>(http::Response::new(Full::<Bytes>::default())) };
    /// let server = ApiServer::new();
    /// let backend = server.service_backend("shop", "prices", 443, tower::service_fn(answer));
    /// // ... create a webhook configuration for the service, and objects ...
    /// drop(backend);
    /// ```
    pub fn service_backend<S, B>(&self, namespace: &str, name: &str, port: u16, service: S) -> ServiceBackend
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let at = ServicePort { namespace: namespace.to_owned(), name: name.to_owned(), port };
        // Without the lock of the cluster: what is replaced may use the server when it is dropped.
        let backends = self.cluster.lock().backends.clone();
        backends.add(at, service)
    }

    /// The kubelet, which serves `exec`, `attach`, `port-forward` and `logs`.
    pub fn kubelet(&self) -> Kubelet {
        self.kubelet.clone()
    }

    /// A handle for a socket, with watches and connections of its own; with RBAC, requests without credentials are anonymous.
    pub(crate) fn for_socket(&self) -> Self {
        let (cut, connections) = (Arc::new(watch::Sender::new(0)), Arc::new(StreamConnections::new()));
        let enforces = self.cluster.lock().enforces_rbac();
        let handle = if enforces { self.as_user(User::anonymous()) } else { self.clone() };
        Self { cut, connections, ..handle }
    }

    pub(crate) fn observed_by(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Whether an observer ([`Builder::on_response`](crate::Builder::on_response)) is told of the requests through this handle.
    pub fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    pub(super) fn observer(&self) -> Option<&Observer> {
        self.observer.as_ref()
    }

    /// Registers the client certificate of a user.
    pub(crate) fn add_certificate(&self, certificate: Vec<u8>, user: User) {
        self.cluster.lock().access.credentials.add_certificate(certificate, user);
    }

    /// Makes the subject of every client certificate that the socket has verified a user.
    pub(crate) fn trust_subjects(&self) {
        self.cluster.lock().access.credentials.trust_subjects();
    }

    /// Registers the token of a user.
    pub(crate) fn add_token(&self, token: String, user: User) {
        self.cluster.lock().access.credentials.add_token(token, user);
    }

    /// Whether service account tokens have this issuer and are signed with this key in PEM, where they are given.
    pub(crate) fn signs_tokens_as(&self, issuer: Option<&str>, key: Option<&Secret>) -> bool {
        let signer = &self.cluster.lock().access.token_signer;
        issuer.is_none_or(|issuer| issuer == signer.issuer())
            && key.is_none_or(|key| signer.has_key(key.expose()))
    }

    /// Sets the issuer of service account tokens and its key in PEM, where they are given.
    pub(crate) fn set_token_signer(
        &self,
        issuer: Option<String>,
        key: Option<&Secret>,
    ) -> Result<(), String> {
        let signer = &mut self.cluster.lock().access.token_signer;
        if let Some(key) = key {
            *signer = TokenSigner::from_pem(key.expose())?;
        }
        if let Some(issuer) = issuer {
            signer.set_issuer(issuer);
        }
        Ok(())
    }

    /// Sets the CA certificate that pods get.
    pub(crate) fn set_ca(&self, pem: &str) -> Result<(), DataError> {
        Ok(self.cluster.lock().set_ca(pem)?)
    }

    pub(crate) fn connections(&self) -> &StreamConnections {
        &self.connections
    }

    pub(super) fn identity(&self) -> Arc<User> {
        self.identity.clone()
    }

    pub(super) fn cluster(&self) -> &Arc<Mutex<ClusterState>> {
        &self.cluster
    }

    pub(super) fn clock(&self) -> Clock {
        self.cluster.lock().clock.clone()
    }

    pub(super) fn matching_fault(&self, parts: &Parts) -> Option<Fault> {
        self.faults.matching_fault(|| RequestInfo::of(parts))
    }

    pub(super) fn end_signal(&self) -> watch::Receiver<u64> {
        self.cut.subscribe()
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
