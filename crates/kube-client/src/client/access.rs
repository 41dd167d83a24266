//! [`Client::set_credentials`]: exchanges where and as whom a client and its clones send requests.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Request;
use kube_core::params::GetParams;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Client;
use super::sender::Sender;
use super::shared_access::{ClientAccess, KnownCluster};
use crate::Result;
use crate::config::Config;
use crate::error::{Error, ErrorClass};
use crate::stack::AccessService;
use crate::task::in_task_of_runtime;

/// How long a server may take to say which cluster it is.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// How many bytes that may have: annotations alone have up to 256 KiB, managed fields come on top.
const IDENTITY_LIMIT: usize = 1 << 20;

impl Client {
    /// Lets this client and all its clones send requests to the address, with the CA certificates, through the proxy and with the
    /// credentials of `config`, from now on: a rotated certificate, token or CA, another exec plugin, another address. All other settings
    /// stay.
    ///
    /// New requests use new connections. Requests in flight end on the old ones, which are closed then; watches go on. A request that
    /// fails with the old credentials meanwhile (401, or no connection) is sent again with the new ones, once, unless they lead to another
    /// cluster, or the client does not retry (`default_retry`). Whether the server accepts the new credentials is not tried first.
    ///
    /// Another address, proxy or `tls-server-name`, or other CA certificates, may lead to another cluster. Both are asked for the `uid` of
    /// the namespace `kube-system`, for at most 5 s. If it is another one, watchers of `kube-runtime` list everything anew; else they
    /// resume. If neither can be asked for, as without the permission to `get` that namespace, another address, proxy or
    /// `tls-server-name` counts as another cluster, and other CA certificates do not; if only the new one cannot, it counts as another
    /// one. A request that was made for one cluster is not sent to another, not as another attempt either: it fails.
    ///
    /// To follow a file or a Secret, see [`Config::follow`].
    ///
    /// # Errors
    /// If `config` cannot be used, or the client follows its source ([`Config::follow`]), which would take it back, or was made by
    /// [`Client::new`], over a service of the program. Then nothing changes.
    ///
    /// # Cancellation
    /// Dropping the future before its end exchanges nothing. Several calls are done one after the other.
    ///
    /// ```
    /// use http::{Request, Response};
    /// use kube_client::client::Body;
    /// use kube_client::{Client, Config};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// // Returns the token that it receives.
    /// let server = tower::service_fn(async |request: Request<Body>| {
    ///     let token = request.headers()["authorization"].as_bytes().to_vec();
    ///     Ok::<_, std::convert::Infallible>(Response::new(Body::from(token)))
    /// });
    /// let mut config = Config::new("http://server".parse().unwrap());
    /// config.auth_info.token = Some("old".to_owned().into());
    /// let client = Client::with_transport(&config, server).unwrap();
    /// let clone = client.clone();
    ///
    /// config.auth_info.token = Some("new".to_owned().into());
    /// client.set_credentials(config).await.unwrap();
    /// let seen = clone.request_text(Request::get("/").body(vec![]).unwrap()).await.unwrap();
    /// assert_eq!(seen, "Bearer new");
    /// # });
    /// ```
    pub async fn set_credentials(&self, config: Config) -> Result<()> {
        let access = self.own_access()?;
        access.check_not_followed()?;
        let exchange = in_task_of_runtime(async move { access.exchange(config).await });
        exchange.await.unwrap_or_else(ended_early)
    }

    /// Like [`set_credentials`](Self::set_credentials), unless the client has them: then connections stay. Returns whether it had others.
    #[doc(hidden)]
    pub async fn update_credentials(&self, config: Config) -> Result<bool> {
        let access = self.own_access()?;
        let update = in_task_of_runtime(async move { access.update(config).await });
        update.await.unwrap_or_else(ended_early)
    }

    fn own_access(&self) -> Result<Arc<ClientAccess>> {
        self.access.clone().ok_or_else(|| {
            let text = "a client over a service of the program has no credentials to set: expected one made of a `Config`";
            Error::Service(text.into())
        })
    }

    /// The identity of the cluster: the uid of the namespace `kube-system`. `None` if the client may not read it, or it has none. The 404
    /// of a server that does not serve namespaces, such as a balancer before it, says nothing and is an error.
    ///
    /// # Errors
    /// If the server could not be asked, or does not accept the credentials.
    #[doc(hidden)]
    pub async fn cluster_uid(&self) -> Result<Option<String>> {
        let request = Request::new("/api/v1/namespaces").get_metadata("kube-system", &GetParams::default());
        let servers = self.access.as_ref().map(|access| access.cluster.lock().servers);
        let client = self.clone().with_collect_limit(IDENTITY_LIMIT);
        let object = client.request::<IdentifiedObject>(request.map_err(Error::BuildRequest)?).await;
        match object {
            Ok(object) => {
                let uid = object.metadata.uid.filter(|uid| !uid.is_empty());
                // An exchange may have to tell whether it leads to another cluster when the old one does not answer any more.
                if let Some((access, servers)) = self.access.as_ref().zip(servers) {
                    access.learn_cluster(servers, uid.as_ref());
                }
                Ok(uid)
            }
            Err(Error::Api(status))
                if status.code == 403 || ErrorClass::of_status(&status) == ErrorClass::NotFound =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the configuration reaches and verifies the server in the same way as the client, as far as that is known.
    #[doc(hidden)]
    pub fn has_server_of(&self, config: &Config) -> bool {
        self.access.as_ref().is_none_or(|access| access.access.config().has_server_of(config))
    }

    /// Whether the configuration leads to the same address, by whatever credentials and certificates, as far as that is known.
    #[doc(hidden)]
    pub fn has_place_of(&self, config: &Config) -> bool {
        self.access.as_ref().is_none_or(|access| access.access.config().has_place_of(config))
    }

    /// The number of the cluster that the client leads to.
    pub(super) fn cluster_number(&self) -> u64 {
        self.access.as_ref().map_or(0, |access| access.access.cluster_number())
    }

    /// To compare the servers of clients.
    #[doc(hidden)]
    pub fn server_address(&self) -> ServerAddress {
        ServerAddress(self.access.as_ref().map(Arc::downgrade).unwrap_or_default())
    }

    /// To learn that the client leads to another cluster.
    #[doc(hidden)]
    pub fn cluster_change(&self) -> ClusterChange {
        let cluster = self.access.as_ref().map(|access| access.access.cluster());
        let seen = cluster.as_ref().map_or(0, |cluster| *cluster.borrow());
        ClusterChange { cluster, seen }
    }
}

/// Where a client and its clones send requests. It does not keep them.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct ServerAddress(Weak<ClientAccess>);

impl ServerAddress {
    /// The address now; `None` without a client, and for one over a service of the program.
    pub fn get(&self) -> Option<String> {
        Some(self.0.upgrade()?.access.address().to_string())
    }
}

/// Tells whoever knows objects of a cluster that its client leads to another one now.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct ClusterChange {
    cluster: Option<watch::Receiver<u64>>,
    seen: u64,
}

impl ClusterChange {
    /// Whether the client leads to another cluster than when this was last asked.
    pub fn take(&mut self) -> bool {
        let Some(cluster) = &mut self.cluster else { return false };
        // An error means that the client is gone, and stays where it was.
        let changed = cluster.has_changed().unwrap_or(false);
        if changed {
            self.seen = *cluster.borrow_and_update();
        }
        changed
    }

    /// The number of the cluster that is known here.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The number of the cluster that the client leads to.
    pub fn present(&self) -> u64 {
        self.cluster.as_ref().map_or(0, |cluster| *cluster.borrow())
    }

    /// Waits until the client leads to another cluster. Dropping the future loses nothing.
    pub async fn next(&mut self) {
        if let Some(cluster) = &mut self.cluster
            && cluster.changed().await.is_ok()
        {
            self.seen = *cluster.borrow_and_update();
            return;
        }
        std::future::pending().await
    }
}

impl ClientAccess {
    /// Uses the access of `config` from now on.
    pub(super) async fn exchange(&self, config: Config) -> Result<()> {
        let _turn = self.turn.lock().await;
        self.exchange_in_turn(config).await
    }

    /// The same, unless it has that access once earlier exchanges have ended. Returns whether it had another.
    async fn update(&self, config: Config) -> Result<bool> {
        let _turn = self.turn.lock().await;
        let present = self.access.config();
        if present.has_access_of(&present.with_access_of(config.clone())) {
            return Ok(false);
        }
        self.check_not_followed()?;
        self.exchange_in_turn(config).await?;
        Ok(true)
    }

    /// What follows a source would take other credentials back.
    fn check_not_followed(&self) -> Result<()> {
        let Some(read) = self.program.as_ref().and_then(Config::followed) else { return Ok(()) };
        let text =
            format!("the client follows {}: expected one of a configuration without `follow`", read.source);
        Err(Error::Service(text.into()))
    }

    async fn exchange_in_turn(&self, config: Config) -> Result<()> {
        let old = self.access.config();
        let prepared = Arc::clone(&self.access).prepare(config)?;
        let new = prepared.config();
        let mut another_cluster = false;
        let mut new_server = None;
        if !old.has_server_of(new) {
            let (old_uid, new_uid) = join(self.known_cluster(), cluster_uid(prepared.service())).await;
            another_cluster = match (&old_uid, &new_uid) {
                (Some(old), Some(new)) => old != new,
                // The old one did say which it is: a list is right in either case.
                (Some(_), None) => true,
                (None, _) => !old.has_place_of(new),
            };
            new_server = Some(new_uid);
        }
        tracing::debug!(address = %new.address(), another_cluster, "other credentials or another address from now on");
        prepared.commit(another_cluster);
        if let Some(uid) = new_server {
            // Not before: whoever asked the old one until now has its number.
            let mut known = self.cluster.lock();
            *known = KnownCluster { uid, servers: known.servers + 1 };
        }
        Ok(())
    }

    /// The cluster that the client leads to, if it can be found out.
    pub(super) async fn known_cluster(&self) -> Option<String> {
        let KnownCluster { uid, servers } = self.cluster.lock().clone();
        if uid.is_some() {
            return uid;
        }
        let uid = cluster_uid(self.access.service()).await;
        self.learn_cluster(servers, uid.as_ref());
        uid
    }

    /// `servers`: how many servers were known when it was asked.
    fn learn_cluster(&self, servers: u64, uid: Option<&String>) {
        let mut known = self.cluster.lock();
        if known.servers == servers && known.uid.is_none() {
            known.uid = uid.cloned();
        }
    }
}

fn ended_early<T>() -> Result<T> {
    Err(Error::Service("the task that sets the credentials ended early".into()))
}

#[derive(Deserialize)]
struct IdentifiedObject {
    metadata: ObjectMeta,
}

/// The identity of the cluster to which the service leads: the uid of a namespace that every cluster has, and that cannot be deleted.
async fn cluster_uid(service: AccessService) -> Option<String> {
    let client = Client::with_sender(Sender::cloned(service), "default").with_collect_limit(IDENTITY_LIMIT);
    let request =
        Request::new("/api/v1/namespaces").get_metadata("kube-system", &GetParams::default()).ok()?;
    match timeout(LOOKUP_TIMEOUT, client.request::<IdentifiedObject>(request)).await {
        Ok(Ok(object)) => object.metadata.uid.filter(|uid| !uid.is_empty()),
        Ok(Err(err)) => {
            tracing::debug!(error = %err, "the cluster's identity is not known: cannot get the namespace kube-system");
            None
        }
        Err(_) => {
            tracing::debug!("the cluster's identity is not known: the server did not respond in time");
            None
        }
    }
}
