//! Keeping user code that panics or hangs from ending or blocking its controller.

use futures::{FutureExt, TryFuture, TryFutureExt};
use pin_project_lite::pin_project;
use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Sleep, sleep};

/// Why user code did not come to an end of its own.
#[derive(Debug)]
pub(super) enum Trouble {
    /// With what the panic said.
    Panicked(String),
    /// After so long.
    TimedOut(Duration),
}

impl From<Box<dyn Any + Send>> for Trouble {
    fn from(payload: Box<dyn Any + Send>) -> Self {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self::Panicked(text.unwrap_or_else(|| "(a value that is not text)".to_owned()))
    }
}

/// The outcome of `future`, unless it panics or takes longer than `limit`.
///
/// A reconciler shares its context with later calls, as any two threads share data: what it leaves half done is
/// visible to them with or without the panic.
pub(super) fn guard<F: Future>(
    future: F,
    limit: Option<Duration>,
) -> impl Future<Output = Result<F::Output, Trouble>> {
    Guarded {
        future: AssertUnwindSafe(future).catch_unwind(),
        deadline: limit.map(|limit| (limit, Box::pin(sleep(limit)))),
    }
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
    catch_unwind(AssertUnwindSafe(call)).map_err(Trouble::from)
}

pin_project! {
    /// Is as `Unpin` as its future is, unlike tokio's timeout: [`applier`](super::applier) relies on it.
    struct Guarded<F> {
        #[pin]
        future: F,
        deadline: Option<(Duration, Pin<Box<Sleep>>)>,
    }
}

impl<T, F> Future for Guarded<F>
where
    F: Future<Output = Result<T, Box<dyn Any + Send>>>,
{
    type Output = Result<T, Trouble>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(outcome) = this.future.poll(cx) {
            return Poll::Ready(outcome.map_err(Trouble::from));
        }
        match this.deadline {
            Some((limit, deadline)) => deadline.as_mut().poll(cx).map(|()| Err(Trouble::TimedOut(*limit))),
            None => Poll::Pending,
        }
    }
}
