//! Secrets of the hub with a kubeconfig, as cluster-api and others write them.

use super::announced::{AsyncSpec, of_objects};
use crate::clusters::{
    error::ClusterError,
    event::{ClusterSpec, Clusters},
    name::ClusterName,
    unusable::Unusable,
};
use k8s_openapi::api::core::v1::Secret;
use kube_client::{Api, Client, client::KubeconfigSecret, config::KubeconfigAllowList};
use kube_core::ResourceExt;
use kube_runtime::{
    WatchStreamExt,
    watcher::{self, WatchMonitor},
};

/// Clusters whose kubeconfigs are in Secrets of the hub.
///
/// Their names are `namespace/name` of the Secrets, their labels those of the Secrets. Whoever may write such a Secret decides where the
/// program connects, and what it would run there and here: settings that reach beyond the cluster, such as `exec`, are refused by name
/// unless they are [allowed](Self::allow).
///
/// A changed Secret exchanges the credentials of its cluster; one that cannot be used any more keeps them, with an error in the log. A
/// deleted Secret, or one without the label, removes its cluster.
///
/// ```
/// use kube_client::Client;
/// use kube_operator::clusters::{Clusters, SecretClusters};
///
/// /// The workload clusters of cluster-api.
/// fn members(hub: Client) -> Clusters {
///     SecretClusters::new(hub).labels("cluster.x-k8s.io/cluster-name").key("value").into()
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SecretClusters {
    hub: Client,
    namespace: Option<String>,
    labels: Option<String>,
    key: String,
    allowed: KubeconfigAllowList,
}

impl SecretClusters {
    /// The key `kubeconfig` of the Secrets with the label `sigs.k8s.io/multicluster-runtime-kubeconfig=true`, in all namespaces.
    ///
    /// `hub` needs the permissions to list and watch them.
    pub fn new(hub: Client) -> Self {
        let labels = Some("sigs.k8s.io/multicluster-runtime-kubeconfig=true".to_owned());
        Self { hub, namespace: None, labels, key: "kubeconfig".to_owned(), allowed: Default::default() }
    }

    /// Only Secrets of this namespace.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// The Secrets that match this label selector.
    pub fn labels(self, selector: impl Into<String>) -> Self {
        Self { labels: Some(selector.into()), ..self }
    }

    /// The key that has the kubeconfig: `value` for cluster-api.
    pub fn key(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// What the kubeconfigs may have. The default is nothing that reaches beyond their cluster.
    pub fn allow(self, allowed: KubeconfigAllowList) -> Self {
        Self { allowed, ..self }
    }
}

impl From<SecretClusters> for Clusters {
    fn from(secrets: SecretClusters) -> Self {
        let api: Api<Secret> = match &secrets.namespace {
            Some(namespace) => Api::namespaced(secrets.hub.clone(), namespace),
            None => Api::all(secrets.hub.clone()),
        };
        let config = watcher::Config { label_selector: secrets.labels.clone(), ..watcher::Config::default() };
        let source = match &secrets.labels {
            Some(labels) => format!("the Secrets with labels {labels}"),
            None => "the Secrets".to_owned(),
        };
        let path = api.resource_url().to_owned();
        let watches = WatchMonitor::new(&source, "Secret");
        let watch = watches.watcher(api, config).default_backoff();
        let unusable = Unusable::default();
        let events = of_objects(watch, name_of, secrets, unusable.clone());
        Self::of(source, events).watching(path, watches).telling(unusable)
    }
}

fn name_of(namespace: Option<&str>, name: &str) -> Result<ClusterName, ClusterError> {
    let namespace = namespace.unwrap_or_default();
    ClusterName::namespaced(namespace, name)
        .map_err(|source| ClusterError::Name { place: format!("Secret {namespace}/{name}"), source })
}

impl AsyncSpec<Secret> for SecretClusters {
    async fn read(&self, secret: Secret, name: ClusterName) -> Result<ClusterSpec, ClusterError> {
        let namespace = secret.namespace().unwrap_or_default();
        let source = KubeconfigSecret::new(self.hub.clone(), namespace, secret.name_any());
        let config = source.key(&self.key).allow(self.allowed).decode(&secret).await?;
        let labels = secret.metadata.labels.unwrap_or_default();
        Ok(ClusterSpec { labels, ..ClusterSpec::new(name, config) })
    }
}
