//! Keeping a panic of a reconciler from ending its controller.

use futures::{FutureExt, TryFuture, TryFutureExt};
use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// What a panic said.
#[derive(Debug)]
pub(super) struct Panic(pub(super) String);

impl From<Box<dyn Any + Send>> for Panic {
    fn from(payload: Box<dyn Any + Send>) -> Self {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self(text.unwrap_or_else(|| "(a value that is not text)".to_owned()))
    }
}

/// The outcome of `future`, or what it panicked with.
///
/// A reconciler shares its context with later calls, as any two threads share data: what it leaves half done is
/// visible to them with or without the panic.
pub(super) fn catch<F: TryFuture>(future: F) -> impl Future<Output = Result<Result<F::Ok, F::Error>, Panic>> {
    AssertUnwindSafe(TryFutureExt::into_future(future))
        .catch_unwind()
        .map(|outcome| outcome.map_err(Panic::from))
}

/// The same for a plain call.
pub(super) fn catch_call<T>(call: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(call)).map_err(Panic::from)
}
