//! What a program does on a cluster that was removed: by one replica, within the grace period.

use super::error::BoxError;
use crate::clusters::{CleanUp, Cluster};
use futures::{
    FutureExt,
    future::{self, BoxFuture},
};
use kube_client::error::ErrorChain;
use kube_core::panic::panic_message;
use kube_runtime::controller::Assignments;
use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::timeout;

/// A function of the program.
pub(super) type OnRemoved = Arc<dyn Fn(Cluster) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

/// Calls `removed` where the name of the cluster is assigned to this replica, for at most `limit`.
pub(super) fn clean_up(removed: OnRemoved, assignments: Option<Assignments>, limit: Duration) -> CleanUp {
    Arc::new(move |cluster| {
        let (removed, assignments) = (Arc::clone(&removed), assignments.clone());
        let began = Arc::new(AtomicBool::new(false));
        let begins = Arc::clone(&began);
        let name = cluster.name().to_string();
        let call = move || {
            begins.store(true, Ordering::Relaxed);
            call(&removed, cluster.clone())
        };
        async move {
            let result = match assignments {
                None => timeout(limit, call()).await,
                Some(assignments) => timeout(limit, while_assigned(assignments, &name, call)).await,
            };
            match result {
                Ok(result) => result,
                Err(_) if began.load(Ordering::Relaxed) => {
                    Err(format!("it did not end within {} s", limit.as_secs_f64()))
                }
                Err(_) => Ok(()), // another replica does it
            }
        }
        .boxed()
    })
}

async fn while_assigned(
    assignments: Assignments,
    name: &str,
    call: impl Fn() -> BoxFuture<'static, Result<(), String>>,
) -> Result<(), String> {
    let work = |revoked: BoxFuture<'static, ()>| {
        let done = call();
        async move {
            match future::select(done, revoked).await {
                future::Either::Left((result, _)) => result,
                future::Either::Right(_) => Err("this replica lost the cluster meanwhile".to_owned()),
            }
        }
    };
    assignments.run_while_assigned(name, work).await
}

fn call(removed: &OnRemoved, cluster: Cluster) -> BoxFuture<'static, Result<(), String>> {
    let removed = Arc::clone(removed);
    let done = AssertUnwindSafe(async move { removed(cluster).await }).catch_unwind();
    done.map(|result| match result {
        Ok(result) => result.map_err(|error| ErrorChain(&*error).to_string()),
        Err(panic) => Err(format!("it panicked: {}", panic_message(&*panic))),
    })
    .boxed()
}
