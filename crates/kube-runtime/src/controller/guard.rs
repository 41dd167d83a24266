//! Keeping user code that panics or hangs from ending or blocking its controller.

use crate::{reflector::ObjectRef, unwind::catch};
use futures::{TryFuture, TryFutureExt};
use kube_core::DynamicObject;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    task::unconstrained,
    time::{Sleep, sleep},
};

/// Why user code did not come to an end of its own.
#[derive(Debug)]
pub(super) enum Trouble {
    /// With what the panic said.
    Panicked(String),
    /// After so long.
    TimedOut(Duration),
}

/// A function of the user that panicked when it was called with an object.
#[derive(Debug)]
pub(super) struct CallbackPanic {
    /// Which function.
    pub(super) callback: &'static str,
    pub(super) object: Box<ObjectRef<DynamicObject>>,
    pub(super) message: String,
}

/// The outcome of `future`, unless it panics, also while it is dropped, or takes longer than `limit`.
pub(super) fn guard<F: Future>(
    future: F,
    limit: Option<Duration>,
) -> impl Future<Output = Result<F::Output, Trouble>> {
    Guarded { future: Some(future), deadline: limit.map(|limit| (limit, Box::pin(sleep(limit)))) }
}

/// The same for a future that can fail.
pub(super) fn guard_try<F: TryFuture>(
    future: F,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Result<F::Ok, F::Error>, Trouble>> {
    guard(TryFutureExt::into_future(future), limit)
}

/// The same for a plain call, which cannot be interrupted.
pub(super) fn guard_call<T>(call: impl FnOnce() -> T) -> Result<T, Trouble> {
    catch(call).map_err(Trouble::Panicked)
}

pin_project! {
    /// Is as `Unpin` as its future is, unlike tokio's timeout: [`applier`](super::applier) relies on it.
    struct Guarded<F> {
        // Dropped here, as soon as it is over, because dropping it can panic.
        #[pin]
        future: Option<F>,
        deadline: Option<(Duration, Pin<Box<Sleep>>)>,
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = Result<F::Output, Trouble>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(future) = this.future.as_mut().as_pin_mut() else { return Poll::Pending };
        let outcome = match guard_call(|| future.poll(cx)) {
            Ok(Poll::Ready(output)) => Ok(output),
            Ok(Poll::Pending) => match this.deadline {
                Some((limit, deadline)) => {
                    // A timer is never due for a task whose future has used up its budget.
                    ready!(pin!(unconstrained(deadline.as_mut())).poll(cx));
                    Err(Trouble::TimedOut(*limit))
                }
                None => return Poll::Pending,
            },
            Err(trouble) => Err(trouble),
        };
        Poll::Ready(match (outcome, guard_call(|| this.future.set(None))) {
            (outcome, Ok(())) => outcome,
            (Ok(_), Err(trouble)) => Err(trouble),
            (Err(first), Err(second)) => {
                tracing::error!(?second, "dropping a reconcile panicked");
                Err(first)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        task::{consume_budget, yield_now},
        time::advance,
    };

    /// The timer asks tokio for budget, too, and a future that has used it up leaves none.
    #[tokio::test(start_paused = true)]
    async fn a_future_that_uses_up_the_budget_of_its_task_is_timed_out() {
        let spinning = async {
            for _ in 0..1_000_000 {
                consume_budget().await;
            }
        };
        let limit = Duration::from_secs(1);
        let guarded = tokio::spawn(guard(spinning, Some(limit)));
        yield_now().await;
        advance(2 * limit).await;
        let outcome = guarded.await.unwrap();
        assert!(matches!(outcome, Err(Trouble::TimedOut(after)) if after == limit), "{outcome:?}");
    }
}
