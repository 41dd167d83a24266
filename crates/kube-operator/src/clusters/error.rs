//! [`ClusterError`]: what is wrong with a cluster or its provider.

use super::name::{ClusterName, InvalidClusterName};
use kube_client::{client::KubeconfigSecretError, config::KubeconfigError, error::ErrorChain};
use std::{io, path::PathBuf};

/// What is wrong with one cluster, or with one that a provider announces. Nothing else is affected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// An object, context or file whose name cannot be that of a cluster.
    #[error("{place}: {source}")]
    Name {
        /// Such as `context "a b"`.
        place: String,
        /// What is wrong with it.
        source: InvalidClusterName,
    },
    /// Another provider has announced this name before.
    #[error(
        "cluster {name} of {source_name} is not used: {holder} has announced this name before. It is used once that removes it"
    )]
    Claimed {
        /// The name.
        name: ClusterName,
        /// The provider that announces it later.
        source_name: String,
        /// The provider that has it.
        holder: String,
    },
    /// A context of a kubeconfig cannot be used.
    #[error("context {context:?} of {place}: {}", ErrorChain(.source))]
    Context {
        /// The context.
        context: String,
        /// The kubeconfig.
        place: String,
        /// Why.
        source: KubeconfigError,
    },
    /// The directory of a provider cannot be read.
    #[error("{}: {source}", path.display())]
    Directory {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A kubeconfig file cannot be used.
    #[error("{}: {}", path.display(), ErrorChain(.source))]
    Kubeconfig {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: KubeconfigError,
    },
    /// A Secret has no kubeconfig that can be used.
    #[error(transparent)]
    Secret(#[from] KubeconfigSecretError),
    /// The sender of a [channel](super::Clusters::channel) was dropped before it said that all clusters were sent.
    #[error("the sender was dropped before it sent ClusterEvent::InitDone")]
    SenderDropped,
    /// Objects of the hub cannot be watched.
    #[error("cannot watch the clusters: {}", ErrorChain(.0))]
    Watch(#[source] Box<kube_runtime::watcher::Error>),
    /// A cluster is the one in which the program has its own objects.
    #[error(
        "cluster {0} is the hub itself: run controllers for it with Manager::controller, or remove it from the clusters"
    )]
    Hub(ClusterName),
    /// Two names lead to one cluster.
    #[error(
        "cluster {name} is the same as cluster {holder}, by the uid of its namespace kube-system: its objects would be reconciled \
         twice. It is used once that leaves"
    )]
    Twin {
        /// The name that connected later.
        name: ClusterName,
        /// The name that has the cluster.
        holder: ClusterName,
    },
    /// No client can be made of the configuration.
    #[error("cluster {name}: its configuration cannot be used: {}", ErrorChain(.source))]
    Config {
        /// The cluster.
        name: ClusterName,
        /// Why.
        source: Box<kube_client::Error>,
    },
    /// A provider panicked. It is not asked again.
    #[error("it panicked: {0}")]
    Panicked(String),
    /// A provider of the program failed.
    #[error("{}", ErrorChain(.0.as_ref()))]
    Provider(#[source] Box<dyn std::error::Error + Send + Sync>),
}
