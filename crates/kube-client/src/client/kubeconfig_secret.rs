//! [`KubeconfigSecret`]: the configuration of one cluster in a Secret of another one.

use std::fmt;
use std::io;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, future::BoxFuture};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::params::{GetParams, WatchParams};
use kube_core::{Request, Resource, WatchEvent};
use thiserror::Error;
use tokio::time::{Instant, sleep_until};
use tower::BoxError;

use super::Client;
use crate::chain::ErrorChain;
use crate::config::{
    Config, ConfigSource, KubeConfigOptions, Kubeconfig, KubeconfigAllowList, KubeconfigError,
    ObservedSource, UntrustedKubeconfigError, decode_text,
};
use crate::error;

/// A Secret with a kubeconfig, as cluster-api and others write them.
///
/// Whoever may write the Secret decides where the program connects, so what would reach beyond that is refused unless it is allowed: see
/// [`Kubeconfig::from_untrusted`].
///
/// ```
/// use k8s_openapi::{ByteString, api::core::v1::Secret};
/// use kube_client::{Api, Client, api::PostParams, client::KubeconfigSecret};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let hub = Client::new(kube_testserver::ApiServer::new(), "default");
/// let text = r#"{
///     "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
///     "clusters": [{"name": "c", "cluster": {"server": "https://c:6443"}}], "users": [{"name": "u", "user": {"token": "t"}}]}"#;
/// let mut secret = Secret::default();
/// secret.metadata.name = Some("member".into());
/// secret.data = Some([("value".to_owned(), ByteString(text.into()))].into());
/// Api::<Secret>::namespaced(hub.clone(), "default").create(&PostParams::default(), &secret).await?;
///
/// let source = KubeconfigSecret::new(hub, "default", "member").key("value");
/// let config = source.read().await?;
/// assert_eq!(config.cluster_url, "https://c:6443/");
/// let client = Client::try_from(config.follow()?)?;
/// # drop(client);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct KubeconfigSecret {
    hub: Client,
    namespace: String,
    name: String,
    key: String,
    options: KubeConfigOptions,
    allowed: KubeconfigAllowList,
}

/// The kubeconfig of a Secret cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KubeconfigSecretError {
    /// The Secret could not be read.
    #[error("cannot get {secret}: {}", ErrorChain(.source.as_ref()))]
    Get {
        /// Namespace and name.
        secret: String,
        /// Why.
        source: Box<error::Error>,
    },
    /// The Secret was deleted.
    #[error("{secret} was deleted")]
    Deleted {
        /// Namespace and name.
        secret: String,
    },
    /// The Secret has no such key.
    #[error("{secret} has no key {key:?} in its `data`: expected one with a kubeconfig")]
    NoKey {
        /// Namespace and name.
        secret: String,
        /// The key.
        key: String,
    },
    /// The value is not text.
    #[error("{secret}, key {key:?}: {}", ErrorChain(.source))]
    NoText {
        /// Namespace and name.
        secret: String,
        /// The key.
        key: String,
        /// Why.
        source: io::Error,
    },
    /// The text is no kubeconfig, or has settings that are not allowed.
    #[error("{secret}, key {key:?}: {}", ErrorChain(.source))]
    Untrusted {
        /// Namespace and name.
        secret: String,
        /// The key.
        key: String,
        /// Why.
        source: UntrustedKubeconfigError,
    },
    /// The context, its cluster or its user cannot be used.
    #[error("{secret}, key {key:?}: {}", ErrorChain(.source))]
    Unusable {
        /// Namespace and name.
        secret: String,
        /// The key.
        key: String,
        /// Why.
        source: KubeconfigError,
    },
}

impl KubeconfigSecret {
    /// The key `kubeconfig` of this Secret, read by `hub`, the client of the cluster that has it.
    pub fn new(hub: Client, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        let (namespace, name, key) = (namespace.into(), name.into(), "kubeconfig".to_owned());
        Self { hub, namespace, name, key, options: Default::default(), allowed: Default::default() }
    }

    /// Another key of the Secret: `value` for cluster-api.
    pub fn key(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// The context, cluster or user to select. The default is the current context.
    pub fn options(self, options: KubeConfigOptions) -> Self {
        Self { options, ..self }
    }

    /// What the kubeconfig may have. The default is nothing that reaches beyond its cluster.
    pub fn allow(self, allowed: KubeconfigAllowList) -> Self {
        Self { allowed, ..self }
    }

    /// Reads the configuration. Clients of it can [follow](Config::follow) the Secret, which takes the permission to `watch` it.
    ///
    /// # Errors
    /// If there is no such Secret or key, or the kubeconfig in it cannot be used or has what is not allowed.
    pub async fn read(&self) -> Result<Config, KubeconfigSecretError> {
        let secret = self.get().await?;
        Ok(self.decode(&secret).await?.read_from(self.clone()))
    }

    async fn get(&self) -> Result<Secret, KubeconfigSecretError> {
        let failed = |source| KubeconfigSecretError::Get { secret: self.place(), source: Box::new(source) };
        let request = self.request().get(&self.name, &GetParams::default());
        let request = request.map_err(|err| failed(error::Error::BuildRequest(err)))?;
        self.hub.request(request).await.map_err(failed)
    }

    /// Like [`read`](Self::read), of the Secret in this state, which the program has from a watch, say. Clients of the configuration follow
    /// nothing.
    ///
    /// # Errors
    /// If the Secret has no such key, or the kubeconfig in it cannot be used or has what is not allowed.
    pub async fn decode(&self, secret: &Secret) -> Result<Config, KubeconfigSecretError> {
        let (place, key) = (|| self.place(), || self.key.clone());
        let Some(value) = secret.data.as_ref().and_then(|data| data.get(&self.key)) else {
            return Err(KubeconfigSecretError::NoKey { secret: place(), key: key() });
        };
        let text = decode_text(&value.0);
        let text =
            text.map_err(|source| KubeconfigSecretError::NoText { secret: place(), key: key(), source })?;
        let kubeconfig = Kubeconfig::from_untrusted(&text, &self.allowed)
            .map_err(|source| KubeconfigSecretError::Untrusted { secret: place(), key: key(), source })?;
        Config::from_custom_kubeconfig(kubeconfig, &self.options)
            .await
            .map_err(|source| KubeconfigSecretError::Unusable { secret: place(), key: key(), source })
    }

    fn request(&self) -> Request {
        Request::new(Secret::url_path(&(), Some(&self.namespace)))
    }

    fn place(&self) -> String {
        format!("Secret {}/{}", self.namespace, self.name)
    }
}

impl fmt::Display for KubeconfigSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, key {:?}", self.place(), self.key)
    }
}

impl ConfigSource for KubeconfigSecret {
    fn observe(&self) -> Box<dyn ObservedSource> {
        Box::new(ObservedSecret {
            secret: self.clone(),
            events: None,
            next_watch: Instant::now(),
            failures: 0,
            received: None,
            last: None,
        })
    }

    /// The hub must not pay for members that are away.
    fn longest_pause(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn is_untrusted(&self) -> bool {
        true
    }
}

type Events = BoxStream<'static, Result<WatchEvent<Secret>, error::ErasedError>>;

struct ObservedSecret {
    secret: KubeconfigSecret,
    /// The running watch.
    events: Option<Events>,
    next_watch: Instant,
    /// Watches that failed in a row.
    failures: u32,
    /// What the watch has sent and nobody has read; `None` in it after a deletion.
    received: Option<Option<Secret>>,
    /// What was read last.
    last: Option<ReadVersion>,
}

/// A version of the Secret that was read.
struct ReadVersion {
    metadata: ObjectMeta,
    is_used: bool,
}

impl ReadVersion {
    fn is_of(&self, secret: &Secret) -> bool {
        let version = |metadata: &ObjectMeta| (metadata.uid.clone(), metadata.resource_version.clone());
        version(&self.metadata) == version(&secret.metadata)
    }

    fn is_newer_than(&self, secret: &Secret) -> bool {
        let number = |metadata: &ObjectMeta| metadata.resource_version.as_ref()?.parse::<u128>().ok();
        number(&self.metadata) > number(&secret.metadata)
    }
}

impl ObservedSecret {
    /// Begins with the present state, so no version is needed, and what happened between two watches is not lost.
    async fn watch(&mut self) -> Result<Events, error::Error> {
        sleep_until(self.next_watch).await;
        let params = WatchParams::default().fields(&format!("metadata.name={}", self.secret.name));
        let request = self.secret.request().watch(&params, "").map_err(error::Error::BuildRequest)?;
        Ok(self.secret.hub.open_watch(request).await?.events().boxed())
    }

    /// The first of several failures in a row is in the log: meanwhile changes are not seen.
    fn watch_failed(&mut self, err: &dyn fmt::Display) {
        if self.failures == 0 {
            tracing::warn!(source = %self.secret, error = %err, "cannot watch the Secret, trying again");
        }
        self.failures = self.failures.saturating_add(1);
        self.events = None;
        self.next_watch = Instant::now() + Duration::from_secs(1 << self.failures.min(5));
    }

    fn watch_ended(&mut self) {
        self.failures = 0;
        self.events = None;
        self.next_watch = Instant::now() + Duration::from_secs(1);
    }
}

impl ObservedSource for ObservedSecret {
    fn may_have_changed(&mut self) -> BoxFuture<'_, ()> {
        async {
            loop {
                let Some(events) = &mut self.events else {
                    match self.watch().await {
                        Ok(events) => self.events = Some(events),
                        Err(err) => self.watch_failed(&err),
                    }
                    continue;
                };
                match events.next().await {
                    Some(Ok(WatchEvent::Added(secret) | WatchEvent::Modified(secret))) => {
                        self.received = Some(Some(secret));
                        self.failures = 0;
                        return;
                    }
                    Some(Ok(WatchEvent::Deleted(_))) => {
                        self.received = Some(None);
                        return;
                    }
                    Some(Ok(WatchEvent::Bookmark(_))) => {}
                    Some(Ok(WatchEvent::Error(status))) => self.watch_failed(&status),
                    Some(Err(err)) => self.watch_failed(&err),
                    None => self.watch_ended(),
                }
            }
        }
        .boxed()
    }

    fn read(&mut self) -> BoxFuture<'_, Option<Result<Config, BoxError>>> {
        async {
            let is_behind =
                |secret: &Secret| self.last.as_ref().is_some_and(|last| last.is_newer_than(secret));
            let secret = match self.received.take() {
                // A watch may be behind what was read since; or the storage of the hub was restored, and only a GET tells.
                Some(Some(secret)) if !is_behind(&secret) => Ok(secret),
                Some(None) => Err(KubeconfigSecretError::Deleted { secret: self.secret.place() }),
                Some(Some(_)) | None => self.secret.get().await,
            };
            let secret = match secret {
                Ok(secret) => secret,
                Err(err) => return Some(Err(err.into())),
            };
            if self.last.as_ref().is_some_and(|last| last.is_used && last.is_of(&secret)) {
                return None;
            }
            let config = self.secret.decode(&secret).await;
            self.last = Some(ReadVersion { metadata: secret.metadata, is_used: config.is_ok() });
            Some(config.map_err(Into::into))
        }
        .boxed()
    }

    fn not_used(&mut self) {
        if let Some(last) = &mut self.last {
            last.is_used = false;
        }
    }
}
