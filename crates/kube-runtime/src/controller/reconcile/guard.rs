//! Isolating user code: a panic or a hang must not stop the controller.

use crate::unwind::catch_panic;
use futures::{TryFuture, TryFutureExt};
use pin_project_lite::pin_project;
use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    task::unconstrained,
    time::{Sleep, sleep},
};

/// Why user code did not finish.
#[derive(Debug)]
pub(crate) enum Interruption {
    /// With the message of the panic.
    Panicked(String),
    /// After this timeout.
    TimedOut(Duration),
}

/// The output of `future`, unless it panics, which includes panics while it is dropped, or takes longer than `timeout`.
pub(super) fn guard<F: Future>(
    future: F,
    timeout: Option<Duration>,
) -> impl Future<Output = Result<F::Output, Interruption>> {
    Guarded { future: Some(future), deadline: timeout.map(|timeout| (timeout, Box::pin(sleep(timeout)))) }
}

/// Like [`guard`], for a future that can fail.
pub(crate) fn guard_try<F: TryFuture>(
    future: F,
    timeout: Option<Duration>,
) -> impl Future<Output = Result<Result<F::Ok, F::Error>, Interruption>> {
    guard(TryFutureExt::into_future(future), timeout)
}

/// Like [`guard`], for a plain call, which cannot time out.
pub(crate) fn guard_call<T>(call: impl FnOnce() -> T) -> Result<T, Interruption> {
    catch_panic(call).map_err(Interruption::Panicked)
}

/// The output of `future`, or `None` if `revoked` completes before it or `may_run` is false. A panic while `future` is dropped is logged.
///
/// Both are asked before each poll: in a process that did not run for a while, the future may be woken before any timer.
pub(crate) async fn until_revoked<F: Future>(
    future: F,
    may_run: impl Fn() -> bool,
    revoked: impl Future<Output = ()>,
) -> Option<F::Output> {
    let (mut future, mut revoked) = (Box::pin(future), pin!(unconstrained(revoked))); // see `Guarded`
    let output = poll_fn(|cx| {
        if !may_run() || revoked.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        future.as_mut().poll(cx).map(Some)
    })
    .await;
    if output.is_some() {
        return output;
    }
    if let Err(panic) = guard_call(move || drop(future)) {
        tracing::error!(?panic, "dropping a revoked reconcile panicked");
    }
    None
}

pin_project! {
    /// `Unpin` if its future is, unlike tokio's `Timeout`: [`applier`](crate::applier) requires that.
    struct Guarded<F> {
        // `None` once it has finished: it is dropped under the guard, because dropping it can panic.
        #[pin]
        future: Option<F>,
        deadline: Option<(Duration, Pin<Box<Sleep>>)>,
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = Result<F::Output, Interruption>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(future) = this.future.as_mut().as_pin_mut() else { return Poll::Pending };
        let outcome = match guard_call(|| future.poll(cx)) {
            Ok(Poll::Ready(output)) => Ok(output),
            Ok(Poll::Pending) => match this.deadline {
                Some((timeout, deadline)) => {
                    // Once the future has used up the task's coop budget, a constrained timer would never fire.
                    ready!(pin!(unconstrained(deadline.as_mut())).poll(cx));
                    Err(Interruption::TimedOut(*timeout))
                }
                None => return Poll::Pending,
            },
            Err(interruption) => Err(interruption),
        };
        Poll::Ready(match (outcome, guard_call(|| this.future.set(None))) {
            (outcome, Ok(())) => outcome,
            (Ok(_), Err(interruption)) => Err(interruption),
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
    use std::{
        cell::Cell,
        future::{pending, ready},
    };
    use tokio::{
        task::{consume_budget, yield_now},
        time::advance,
    };

    #[tokio::test]
    async fn a_future_is_not_polled_when_it_may_not_run_or_is_revoked_at_the_same_time() {
        let polled = Cell::new(0);
        let future = || {
            poll_fn(|cx| {
                polled.set(polled.get() + 1);
                cx.waker().wake_by_ref();
                Poll::<()>::Pending
            })
        };
        assert_eq!(until_revoked(future(), || polled.get() < 7, pending()).await, None);
        assert_eq!(polled.replace(0), 7);
        assert_eq!(until_revoked(future(), || true, ready(())).await, None);
        assert_eq!(polled.get(), 0);
        assert_eq!(until_revoked(ready(1), || true, pending()).await, Some(1));
    }

    /// tokio's timer consumes coop budget as well, so without `unconstrained` it would not fire.
    #[tokio::test(start_paused = true)]
    async fn a_future_that_uses_up_the_coop_budget_times_out() {
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
        assert!(matches!(outcome, Err(Interruption::TimedOut(after)) if after == limit), "{outcome:?}");
    }
}
