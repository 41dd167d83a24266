//! The builder of a server.

use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use crate::{
    AdmissionPlugin, ApiServer, BuiltInController, Manifests, RequestRecord, StartError, TestServer, User,
    clock::Clock,
    cluster::Settings,
    secret::Secret,
    server::Observer,
    socket::{self, ServingCertificate, Socket},
};

/// Configures a server: [`start`](Self::start) opens a socket, [`service`](Self::service) returns it as a tower service.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube_testserver::TestServer;
///
/// let shop = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
/// let server = TestServer::builder()
///     .with_objects(shop)
///     .with_objects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: prices, namespace: shop}\n")
///     .tls()
///     .start()
///     .await?;
/// assert!(server.url().starts_with("https://"));
/// # Ok::<_, kube_testserver::StartError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    settings: Settings,
    snapshot: Option<Manifests>,
    objects: Vec<Manifests>,
    socket: Socket,
    users: Vec<User>,
    data: Option<PathBuf>,
    sync: bool,
    observer: Option<Observer>,
    runtime_config: Vec<String>,
    service_range: Option<String>,
    issuer: Option<String>,
    token_key: Option<Secret>,
    api: Option<ApiServer>,
}

impl TestServer {
    /// Starts a new server on a free loopback port, plain HTTP.
    ///
    /// When no port can be bound.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// A new server without a socket, as a tower service. The same as [`ApiServer::new`].
    pub fn service() -> ApiServer {
        ApiServer::new()
    }

    /// Configures a new server.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl ApiServer {
    /// Configures a new server.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Adds initial CRDs, created before any object: typed, as values, or from YAML files.
    pub fn with_crds(mut self, crds: impl Into<Manifests>) -> Self {
        self.objects.push(crds.into());
        self
    }

    /// Adds initial objects: typed, as values, or from YAML files; see [`ApiServer::load`]. May be called several times.
    pub fn with_objects(mut self, objects: impl Into<Manifests>) -> Self {
        self.objects.push(objects.into());
        self
    }

    /// Starts with a state from [`ApiServer::snapshot`]; initial CRDs and objects are created on top of it.
    pub fn with_snapshot(mut self, snapshot: impl Into<Manifests>) -> Self {
        self.snapshot = Some(snapshot.into());
        self
    }

    /// Switches a built-in controller on.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use http_body_util::{BodyExt, Full};
    /// use kube_testserver::{ApiServer, BuiltInController};
    /// use tower::ServiceExt;
    ///
    /// let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n";
    /// let server = ApiServer::builder().with(BuiltInController::Kubelet).with_objects(pod).service()?;
    /// let request = http::Request::get("/api/v1/namespaces/default/pods/web").body(Full::<bytes::Bytes>::default())?;
    /// let pod = server.oneshot(request).await?.into_body().collect().await?.to_bytes();
    /// assert!(String::from_utf8_lossy(&pod).contains(r#""phase":"Running""#));
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn with(mut self, controller: BuiltInController) -> Self {
        self.settings.disabled.remove(&controller);
        self
    }

    /// Makes a built-in controller look at an object this long after its first change that the controller has not seen, as on clusters,
    /// where controllers take their time: later changes are looked at with it. Without a delay, which is zero too, they have finished when
    /// the request returns. Due work is done by the next request or while a watch is read, on the server's clock. Work that is pending
    /// when a state is replaced begins anew.
    ///
    /// The controller has to be on, and [`BuiltInController::Events`] does nothing later: else [`StartError::Delay`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use kube_testserver::{ApiServer, BuiltInController::GarbageCollection};
    ///
    /// let orphan = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": [
    ///     {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "2d9ef9a1-5fbb-4b44-8e0e-1ec4a2ddb72c"}]}});
    /// let server = ApiServer::builder().with_delay(GarbageCollection, Duration::from_secs(5)).with_objects(orphan).service()?;
    /// assert_eq!(server.objects("", "configmaps").unwrap().len(), 1);
    /// server.advance(Duration::from_secs(5));
    /// assert_eq!(server.objects("", "configmaps").unwrap().len(), 0);
    /// # Ok::<_, kube_testserver::StartError>(()) }).unwrap();
    /// ```
    pub fn with_delay(mut self, controller: BuiltInController, delay: Duration) -> Self {
        match delay.is_zero() {
            true => drop(self.settings.delays.remove(&controller)),
            false => drop(self.settings.delays.insert(controller, delay)),
        }
        self
    }

    /// Whether a built-in controller is on.
    pub fn is_on(&self, controller: BuiltInController) -> bool {
        !self.settings.disabled.contains(&controller)
    }

    /// Keeps the state in a directory, which is created if missing, and starts with the state found there: objects, uids and
    /// resourceVersions survive the process, however it ends. The history does not: watches from before a restart get 410. The CA and the
    /// keys are kept as well, so kubeconfigs and tokens stay valid. Only the owner may read the files. One server at a time uses a
    /// directory: another gets [`StartError::Data`] until the last handle of the first is dropped.
    ///
    /// Every change is written to the file before its response. A change that the disk refuses gets 500, `/readyz` fails until a write
    /// succeeds, and nothing is lost. The disk is only waited for with [`sync`](Self::sync).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use kube_testserver::TestServer;
    ///
    /// let dir = tempfile::tempdir()?;
    /// let server = TestServer::builder().data(dir.path()).service()?;
    /// server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\n")?;
    /// let snapshot = server.snapshot();
    /// drop(server);
    /// assert_eq!(TestServer::builder().data(dir.path()).service()?.snapshot(), snapshot);
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn data(mut self, dir: impl Into<PathBuf>) -> Self {
        self.data = Some(dir.into());
        self
    }

    /// Waits for the disk at each write, so that even a power failure loses no acknowledged write. Without this, the operating system
    /// writes the last changes when it likes; a killed process loses nothing either way. Costs a sync of the file per request that writes:
    /// milliseconds on most disks. Without effect unless there is a [`data`](Self::data) directory.
    pub fn sync(mut self) -> Self {
        self.sync = true;
        self
    }

    /// Switches API versions of built-in kinds on or off, as `--runtime-config` of kube-apiserver: `api/beta=true`,
    /// `coordination.k8s.io/v1beta1`, `api/all=true,api/alpha=false`. By default only stable versions are served, as on clusters. May be
    /// called several times. A version of an object that is stored in another unstable version switches that one on, too. In a
    /// [`data`](Self::data) directory, objects of versions that are off stay until the version is on again; at the start, a warning in the
    /// log counts them.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use http_body_util::Full;
    /// use kube_testserver::ApiServer;
    /// use tower::ServiceExt;
    ///
    /// let candidates = "/apis/coordination.k8s.io/v1beta1/leasecandidates";
    /// for (entries, code) in [("", 404), ("api/beta=true", 200)] {
    ///     let server = ApiServer::builder().runtime_config(entries).service()?;
    ///     let request = http::Request::get(candidates).body(Full::<bytes::Bytes>::default())?;
    ///     assert_eq!(server.oneshot(request).await?.status(), code);
    /// }
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn runtime_config(mut self, entries: impl Into<String>) -> Self {
        self.runtime_config.push(entries.into());
        self
    }

    /// Sets the range of the addresses that services get, as `--service-cluster-ip-range` of kube-apiserver: `10.0.0.0/8` by default. As on
    /// clusters, a new service with another address is refused; ready ServiceCIDRs add to the range. Fixtures from a cluster need its
    /// range. What is no range of IPv4 addresses is [`StartError::ServiceRange`].
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use kube_testserver::ApiServer;
    ///
    /// let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {clusterIP: 172.20.0.10, ports: [{port: 80}]}\n";
    /// assert!(ApiServer::builder().with_objects(service).service().is_err());
    /// ApiServer::builder().service_range("172.20.0.0/16").with_objects(service).service()?;
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn service_range(mut self, range: impl Into<String>) -> Self {
        self.service_range = Some(range.into());
        self
    }

    /// Switches a built-in controller off.
    pub fn without(mut self, controller: BuiltInController) -> Self {
        self.settings.disabled.insert(controller);
        self
    }

    /// Switches an admission plugin off. All are on by default, as on clusters. May be called several times. It applies to initial objects,
    /// too.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use kube_testserver::{AdmissionPlugin, ApiServer};
    ///
    /// let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {priorityClassName: none, containers: [{name: c, image: i}]}\n";
    /// let refused = ApiServer::builder().with_objects(pod).service().unwrap_err();
    /// let why = std::error::Error::source(&refused).expect("an object was refused");
    /// assert!(why.to_string().contains("no PriorityClass with name none was found"));
    /// ApiServer::builder().disable_admission_plugin(AdmissionPlugin::Priority).with_objects(pod).service()?;
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn disable_admission_plugin(mut self, plugin: AdmissionPlugin) -> Self {
        self.settings.disabled_plugins.insert(plugin);
        self
    }

    /// Authenticates users and enforces RBAC, as clusters do. Requests without credentials over a socket are anonymous, unknown tokens get
    /// 401, and requests that no role permits get 403. The kubeconfig's first context is an administrator; handles such as
    /// [`TestServer::api`] act as one too.
    pub fn with_rbac(mut self) -> Self {
        self.settings.rbac = true;
        self
    }

    /// Adds a user, with a context of the same name in the kubeconfig; enforces RBAC as [`with_rbac`](Self::with_rbac) does.
    pub fn with_user(mut self, user: User) -> Self {
        self.users.push(user);
        self.with_rbac()
    }

    /// Calls `observer` for every response as soon as its head is complete: for a request log, or to count requests.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::{Arc, Mutex};
    /// use http_body_util::Full;
    /// use tower::ServiceExt;
    ///
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let log = seen.clone();
    /// let builder = kube_testserver::TestServer::builder();
    /// let server = builder.on_response(move |answered| log.lock().unwrap().push(answered.clone())).service()?;
    /// server.oneshot(http::Request::get("/api/v1/pods?limit=1").body(Full::<bytes::Bytes>::default())?).await?;
    /// let seen = seen.lock().unwrap();
    /// assert_eq!((seen[0].method.as_str(), seen[0].uri.path(), seen[0].code), ("GET", "/api/v1/pods", 200));
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn on_response(mut self, observer: impl Fn(&RequestRecord) + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer(Arc::new(observer)));
        self
    }

    /// Generates the same uids and names (`generateName`) in every run: a test that sends the same requests in the same order gets the same
    /// objects. Together with [`start_time`](Self::start_time) and paused tokio time, timestamps are the same too, so that a whole response
    /// can be compared with a recorded one. Request ids, tokens and certificates stay random.
    ///
    /// ```
    /// use kube_testserver::ApiServer;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
    /// let snapshot = || {
    ///     let server = ApiServer::builder().seed(7).start_time("2026-01-01T00:00:00Z".parse()?).service()?;
    ///     server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: settings-}\n")?;
    ///     Ok::<_, Box<dyn std::error::Error>>(server.snapshot())
    /// };
    /// assert_eq!(snapshot()?, snapshot()?);
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = Some(seed);
        self
    }

    /// Starts the server's clock at this time instead of the present; it goes on from there, up to the year 9999. Certificates are valid at
    /// the present time only. A time before the year 0 is [`StartError::StartTime`].
    pub fn start_time(mut self, start: jiff::Timestamp) -> Self {
        self.settings.start_time = Some(start);
        self
    }

    /// Sets the number of changes in the history, over all resources: 10 000 by default, at least 1. The oldest are dropped first. The
    /// history never exceeds 64 MB.
    pub fn history(mut self, changes: usize) -> Self {
        self.settings.history = changes.max(1);
        self
    }

    /// Serves TLS with a certificate from a CA generated at start. HTTP/2 and HTTP/1.1 by ALPN.
    pub fn tls(mut self) -> Self {
        self.socket.tls = true;
        self
    }

    /// Listens on this port instead of a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.socket.port = port;
        self
    }

    /// Listens on this address instead of 127.0.0.1: on all with `0.0.0.0`, for clients in containers and on other machines. The server
    /// certificate is valid for the address; [`san`](Self::san) adds names.
    ///
    /// Whoever reaches the address may do everything, unless there is [`with_rbac`](Self::with_rbac).
    pub fn bind_address(mut self, address: impl Into<IpAddr>) -> Self {
        self.socket.address = address.into();
        self
    }

    /// Adds a DNS name or an IP address to the server certificate (its subject alternative names), besides `localhost`, `kubernetes`,
    /// `kubernetes.default.svc` and the loopback addresses. May be called several times. Without effect unless there is [`tls`](Self::tls).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::net::Ipv4Addr;
    /// use kube_testserver::TestServer;
    ///
    /// let server = TestServer::builder().tls().bind_address(Ipv4Addr::UNSPECIFIED).san("host.docker.internal").start().await?;
    /// println!("in a container: kubectl --server https://host.docker.internal:{}", server.addr().port());
    /// # Ok::<_, kube_testserver::StartError>(()) }).unwrap();
    /// ```
    pub fn san(mut self, name: impl Into<String>) -> Self {
        self.socket.sans.push(name.into());
        self
    }

    /// Serves TLS with this certificate chain (leaf first) and key, in PEM, instead of a certificate from a generated CA. The kubeconfig
    /// trusts the chain; clients that need its CA have to know it. [`san`](Self::san) has no effect.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use kube_testserver::TestServer;
    ///
    /// let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    /// let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    /// let server = TestServer::builder().certificate(certificate, key).start().await?;
    /// assert!(server.url().starts_with("https://"));
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn certificate(mut self, chain: impl Into<String>, key: impl Into<String>) -> Self {
        self.socket.certificate = Some(ServingCertificate { chain: chain.into(), key: Secret::new(key) });
        self.tls()
    }

    /// Authenticates users by client certificates of these CAs (PEM), as `--client-ca-file` of kube-apiserver: the common name of the
    /// subject is the user, each organization a group. The handshake fails for certificates of other CAs. Without effect unless there is
    /// [`tls`](Self::tls).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use kube_testserver::TestServer;
    ///
    /// let staff = rcgen::generate_simple_self_signed(Vec::new())?;
    /// let server = TestServer::builder().tls().client_ca(staff.cert.pem()).with_rbac().start().await?;
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn client_ca(mut self, authorities: impl Into<String>) -> Self {
        self.socket.client_ca = Some(authorities.into());
        self
    }

    /// Sets the issuer of service account tokens, which is also their default audience: `https://kubernetes.default.svc` by default.
    pub fn service_account_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Signs service account tokens with this ECDSA P-256 key (PKCS#8 in PEM) instead of a generated one. Another key is
    /// [`StartError::ServiceAccountKey`].
    ///
    /// ```
    /// use kube_testserver::{ApiServer, StartError};
    ///
    /// let key = rcgen::KeyPair::generate()?.serialize_pem();
    /// ApiServer::builder().service_account_issuer("https://issuer.test").service_account_key(key).service()?;
    /// let refused = ApiServer::builder().service_account_key("no key").service().unwrap_err();
    /// assert!(matches!(refused, StartError::ServiceAccountKey(_)));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn service_account_key(mut self, key: impl Into<String>) -> Self {
        self.token_key = Some(Secret::new(key));
        self
    }

    /// Sets the limit of concurrent requests, watches included, on one HTTP/2 connection: 250 by default, as on genuine servers. Clients
    /// with more open further connections.
    pub fn max_concurrent_streams(mut self, streams: u32) -> Self {
        self.socket.streams = streams;
        self
    }

    /// Serves the state of an existing server: for a second socket, or to reopen one after a shutdown. The settings of the state are those
    /// of that server: another choice, such as [`with_rbac`](Self::with_rbac) for a server without RBAC or another [`data`](Self::data)
    /// directory, is [`StartError::ExistingServer`]. Initial objects and users are added to it.
    pub fn api(mut self, api: ApiServer) -> Self {
        self.api = Some(api);
        self
    }

    /// The server without a socket.
    ///
    /// [`StartError::Objects`] when an object cannot be read or is rejected, [`StartError::RuntimeConfig`], [`StartError::ServiceRange`] or
    /// [`StartError::Delay`] when a setting is invalid, [`StartError::Data`] when the data directory cannot be used,
    /// [`StartError::ServiceAccountKey`] when the key cannot be, [`StartError::ExistingServer`] when a setting contradicts
    /// [`api`](Self::api).
    pub fn service(mut self) -> Result<ApiServer, StartError> {
        if let Some(start) = self.settings.start_time.filter(|start| !Clock::can_start_at(*start)) {
            return Err(StartError::StartTime { start });
        }
        for entries in &self.runtime_config {
            let config = &mut self.settings.runtime_config;
            config.add(entries).map_err(|why| StartError::RuntimeConfig(why.to_string()))?;
        }
        let is_idle = |of: &BuiltInController| !self.is_on(*of) || *of == BuiltInController::Events;
        if let Some(controller) = self.settings.delays.keys().copied().find(is_idle) {
            return Err(StartError::Delay { controller });
        }
        if let Some(range) = &self.service_range {
            self.settings.service_range = range.parse().map_err(StartError::ServiceRange)?;
        }
        if let Some(api) = &self.api {
            let conflict = self.settings.conflict_with(api.settings());
            let other_dir = self.data.as_ref().filter(|dir| !api.is_kept_in(dir, self.sync));
            let other_tokens = !api.signs_tokens_as(self.issuer.as_deref(), self.token_key.as_ref());
            let conflict = conflict.or(other_dir.map(|_| "data or sync"));
            let conflict =
                conflict.or(other_tokens.then_some("service_account_issuer or service_account_key"));
            if let Some(setting) = conflict {
                return Err(StartError::ExistingServer { setting });
            }
            self.data = None; // open already
        }
        let mut api = self.api.unwrap_or_else(|| ApiServer::with_settings(self.settings));
        if let Some(observer) = self.observer {
            api = api.observed_by(observer);
        }
        for user in &self.users {
            if let Some(token) = &user.token {
                api.add_token(token.expose().to_owned(), user.clone());
            }
        }
        if let Some(dir) = &self.data {
            api.open_data_dir(dir, self.sync)?;
        }
        let signer = api.set_token_signer(self.issuer, self.token_key.as_ref());
        signer.map_err(StartError::ServiceAccountKey)?;
        if let Some(snapshot) = self.snapshot {
            api.restore(snapshot)?;
        }
        for objects in self.objects {
            api.load(objects)?;
        }
        Ok(api)
    }

    /// Binds a socket, of loopback by default, and serves in a new task.
    ///
    /// [`StartError`] says what failed.
    pub async fn start(self) -> Result<TestServer, StartError> {
        let (socket, users, data) = (self.socket.clone(), self.users.clone(), self.data.clone());
        let api = self.service()?;
        let admin = api.settings().rbac.then(User::admin);
        let users = admin.into_iter().chain(users).collect();
        socket::open(socket, users, data.as_deref(), api).await
    }
}
