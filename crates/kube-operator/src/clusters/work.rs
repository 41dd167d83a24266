//! What runs on a cluster: its controllers, as the supervisor sees them.

use super::{cluster::Cluster, unit::Look};
use futures::future::BoxFuture;
use kube_runtime::controller::WorkerLane;
use std::sync::Arc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The result of a controller.
pub(crate) type WorkResult = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Cleans up on a cluster that was removed. It ends within the grace period, or when the token is cancelled before it has begun. An error
/// says what was not done.
pub(crate) type CleanUp =
    Arc<dyn Fn(Cluster, CancellationToken) -> BoxFuture<'static, Result<CleanedUp, String>> + Send + Sync>;

/// How cleaning up has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CleanedUp {
    /// There is nothing left to do for this replica.
    Done,
    /// The token was cancelled before it began.
    Withdrawn,
}

/// A controller of one cluster.
pub(crate) struct Work {
    pub(crate) name: Arc<str>,
    /// What it shows now.
    pub(crate) look: Box<dyn Fn() -> Look + Send + Sync>,
    /// Runs it until the token is cancelled.
    pub(crate) run: RunWork,
}

/// Runs a controller until the token is cancelled. The tracker has its reconciles: where the future is dropped, they may go on until their
/// next `await`.
pub(crate) type RunWork =
    Box<dyn FnOnce(CancellationToken, &TaskTracker) -> BoxFuture<'static, WorkResult> + Send>;

/// Makes a controller of the program for a cluster.
pub(crate) type MakeWork = Arc<dyn Fn(&Cluster, WorkerLane) -> Work + Send + Sync>;
