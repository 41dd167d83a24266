//! Why a manager ended.

use crate::{leader_election::InvalidConfig, metrics::InstallError, webhook::WebhookServerError};
use std::{io, net::SocketAddr, sync::Arc, time::Duration};

/// Why a [`Manager`](super::Manager) could not start, or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// Settings of leader election or sharding contradict each other.
    #[error(transparent)]
    Lease(#[from] InvalidConfig),
    /// The metrics cannot be recorded.
    #[error(transparent)]
    Metrics(#[from] InstallError),
    /// The address for metrics and health is not available.
    #[error("the metrics server cannot listen on {addr}: {reason}")]
    Bind {
        /// The requested address.
        addr: SocketAddr,
        /// The operating system's reason.
        #[source]
        reason: io::Error,
    },
    /// Routes of [`Manager::routes`](super::Manager::routes) collide with each other or with those of the manager. The text is axum's.
    #[error("the routes cannot be served beside the metrics: {0}")]
    Routes(String),
    /// The webhook server cannot start.
    #[error(transparent)]
    Webhooks(#[from] WebhookServerError),
    /// Two controllers or components have the same name.
    #[error("the manager has two controllers or components with the name {0}")]
    DuplicateName(Arc<str>),
    /// [`Manager::only_on_clusters`](super::Manager::only_on_clusters) names a controller that there is not.
    #[error("only_on_clusters names {0}: expected the name of a controller_on_each or reconciler_on_each")]
    NotOnClusters(String),
    /// A controller or component failed, panicked or ended although it should run, or a hook panicked. The manager has stopped the
    /// others.
    #[error("{name} failed: {reason}")]
    Failed {
        /// The name of the controller or component, `the hook before_leading`, or `the shutdown future of the manager`.
        name: Arc<str>,
        /// Its error.
        #[source]
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something did not stop in its part of the grace period and was aborted.
    #[error("{} did not stop within the grace period of {limit:?}", names.join(", "))]
    GracePeriod {
        /// The names of the controllers and components.
        names: Vec<String>,
        /// The configured grace period.
        limit: Duration,
    },
}

/// A component or controller ended although the manager was not stopping.
#[derive(Debug, thiserror::Error)]
#[error("it ended although it should run")]
pub(super) struct Ended;

/// A panic in a component.
#[derive(Debug, thiserror::Error)]
#[error("it panicked: {0}")]
pub(super) struct Panicked(pub(super) String);

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;
