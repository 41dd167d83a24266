//! What a program does on a cluster that was removed: by one replica, within the grace period.

use super::error::BoxError;
use crate::clusters::{CleanUp, CleanedUp, Cluster};
use futures::{
    FutureExt,
    future::{self, BoxFuture},
};
use kube_client::error::ErrorChain;
use kube_core::panic::panic_message;
use kube_runtime::controller::Assignments;
use std::{
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::{sleep, timeout};

/// A function of the program.
pub(super) type OnRemoved = Arc<dyn Fn(Cluster) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync>;

/// How long a removal must last: a Secret that is replaced is deleted and there again, and so is a cluster that goes to another provider.
const LASTS: Duration = Duration::from_secs(2);

/// Calls `removed` where the name of the cluster is assigned to this replica now or within `hand_over`, for at most `limit`, unless it is
/// withdrawn before.
pub(super) fn clean_up(
    removed: OnRemoved,
    assignments: Option<Assignments>,
    limit: Duration,
    hand_over: Duration,
) -> CleanUp {
    Arc::new(move |cluster, withdrawn| {
        let (removed, assignments) = (Arc::clone(&removed), assignments.clone());
        let began = Arc::new(AtomicBool::new(false));
        let begins = Arc::clone(&began);
        let name = cluster.name().to_string();
        let (is_withdrawn, back) = (withdrawn.clone(), withdrawn.clone());
        let call = move || {
            if is_withdrawn.is_cancelled() {
                return future::ready(Ok(CleanedUp::Withdrawn)).boxed();
            }
            begins.store(true, Ordering::Relaxed);
            call(&removed, cluster.clone(), limit)
        };
        let not_begun = async move {
            let _either = future::select(pin!(withdrawn.cancelled()), pin!(sleep(hand_over))).await;
            if began.load(Ordering::Relaxed) {
                sleep(limit).await;
                return Err(late(limit)); // it was begun again, by a hand-over and back
            }
            match withdrawn.is_cancelled() {
                true => Ok(CleanedUp::Withdrawn),
                false => Ok(CleanedUp::Done), // another replica does it
            }
        };
        let work = async move {
            match assignments {
                None => call().await,
                Some(assignments) => while_assigned(assignments, &name, call).await,
            }
        };
        async move {
            if timeout(LASTS, back.cancelled()).await.is_ok() {
                return Ok(CleanedUp::Withdrawn);
            }
            future::select(pin!(work), pin!(not_begun)).await.factor_first().0
        }
        .boxed()
    })
}

async fn while_assigned(
    assignments: Assignments,
    name: &str,
    call: impl Fn() -> BoxFuture<'static, Result<CleanedUp, String>>,
) -> Result<CleanedUp, String> {
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

fn call(
    removed: &OnRemoved,
    cluster: Cluster,
    limit: Duration,
) -> BoxFuture<'static, Result<CleanedUp, String>> {
    let removed = Arc::clone(removed);
    let done = AssertUnwindSafe(async move { removed(cluster).await }).catch_unwind();
    timeout(limit, done)
        .map(move |result| match result {
            Ok(Ok(result)) => match result {
                Ok(()) => Ok(CleanedUp::Done),
                Err(error) => Err(ErrorChain(&*error).to_string()),
            },
            Ok(Err(panic)) => Err(format!("it panicked: {}", panic_message(&*panic))),
            Err(_) => Err(late(limit)),
        })
        .boxed()
}

fn late(limit: Duration) -> String {
    format!("it did not end within {} s", limit.as_secs_f64())
}
