//! This process among the replicas: joining them, the hooks before it leads, and leaving.

use super::{
    components::{Component, Restart, supervise},
    error::{BoxError, ManagerError, Panicked},
};
use crate::{
    leader_election::{self, LeaderElector},
    sharding::{self, Membership},
};
use futures::{
    FutureExt,
    future::{BoxFuture, pending},
};
use kube_client::Client;
use kube_core::panic::panic_message;
use kube_runtime::controller::Assignments;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Called after each election, before the first reconcile.
pub(super) type Hook = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// How long others may take to notice that a Lease has expired.
const NOTICES: Duration = Duration::from_secs(5);

/// How several replicas of the process share the work.
pub(super) enum Replicas {
    /// They do not know of each other.
    Alone,
    Elected(leader_election::Config),
    Sharded(sharding::Config),
}

impl Replicas {
    /// How long it may take until another one has the work of one that has crashed: its Lease has to expire.
    pub(super) fn hand_over(&self) -> Duration {
        let lease = match self {
            Self::Alone => return Duration::ZERO,
            Self::Elected(config) => config.lease_duration,
            Self::Sharded(config) => config.lease.lease_duration,
        };
        lease.saturating_add(NOTICES)
    }
}

/// This process among the replicas.
pub(super) enum Replica {
    Alone,
    Elected(LeaderElector),
    Member(Membership),
}

impl Replica {
    pub(super) fn has_lease(&self) -> bool {
        !matches!(self, Self::Alone)
    }

    /// Gives the Lease up, after everything has ended here: another replica may take over at once.
    pub(super) async fn release(&self, deadline: Instant) {
        let released = async {
            match self {
                Self::Alone => {}
                Self::Elected(elector) => elector.release().await,
                Self::Member(membership) => membership.leave().await,
            }
        };
        if timeout_at(deadline, released).await.is_err() {
            tracing::warn!("the Lease was not released in time: another replica takes over when it expires");
        }
    }

    /// Does not renew the Lease any more: work of this process that was aborted may still run in other threads until it expires.
    pub(super) fn let_expire(&self) {
        match self {
            Self::Alone => {}
            Self::Elected(elector) => elector.let_expire(),
            Self::Member(membership) => membership.let_expire(),
        }
    }
}

/// Joins the other replicas. The hooks run after each election, or now. A hook that fails later is sent to `failures`.
pub(super) async fn join(
    client: Client,
    replicas: Replicas,
    hooks: Vec<Hook>,
    failures: mpsc::UnboundedSender<ManagerError>,
) -> Result<(Replica, Option<Assignments>), ManagerError> {
    Ok(match replicas {
        Replicas::Alone => {
            call_all(hooks).await?;
            (Replica::Alone, None)
        }
        Replicas::Elected(config) => {
            let elector = LeaderElector::start(client, config)?;
            let assignments = elector.assignments(move || {
                let (hooks, failures) = (hooks.clone(), failures.clone());
                async move {
                    if let Err(error) = call_all(hooks).await {
                        drop(failures.send(error)); // an error: the manager has ended
                        pending().await // nothing is assigned: the manager stops
                    }
                }
            });
            (Replica::Elected(elector), Some(assignments))
        }
        Replicas::Sharded(config) => {
            call_all(hooks).await?;
            let membership = Membership::join(client, config)?;
            let assignments = membership.assignments();
            (Replica::Member(membership), Some(assignments))
        }
    })
}

async fn call_all(hooks: Vec<Hook>) -> Result<(), ManagerError> {
    for hook in hooks {
        // The closure may panic too, so it is called within the future.
        let called = AssertUnwindSafe(async { hook().await }).catch_unwind().await;
        called.map_err(|panic| ManagerError::Failed {
            name: "the hook before_leading".into(),
            reason: Box::new(Panicked(panic_message(&*panic).to_owned())),
        })?;
    }
    Ok(())
}

/// Runs a component while it is assigned to this replica.
pub(super) async fn while_assigned(
    assignments: Assignments,
    name: Arc<str>,
    component: Component,
    restart: Restart,
    stop: CancellationToken,
) -> Result<(), BoxError> {
    let terms = TaskTracker::new();
    let work = assignments.run_while_assigned(&name, |revoked| {
        let term = stop.child_token();
        let run = supervise(Arc::clone(&name), component.clone(), restart, term.clone());
        terms.track_future(async move {
            tokio::pin!(run);
            tokio::select! {
                result = &mut run => return result,
                () = revoked => term.cancel(),
            }
            run.await
        })
    });
    tokio::pin!(work);
    tokio::select! {
        biased;
        result = &mut work => return result,
        () = stop.cancelled() => {}
    }
    // A component that runs ends by itself; otherwise there is nothing to wait for.
    terms.close();
    tokio::select! {
        biased;
        result = &mut work => result,
        () = terms.wait() => Ok(()),
    }
}
