//! A running reconcile, and what happens next after its outcome.

use super::{
    action::Action,
    guard::{Interruption, guard_call},
};
use crate::reflector::ObjectKey;
use std::{
    fmt::{self, Debug},
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tracing::Span;

/// The span of a reconcile. Its outcome is recorded at its end.
pub(super) fn reconcile_span(object: &dyn fmt::Display, reason: &dyn fmt::Display, attempt: u32) -> Span {
    tracing::info_span!(
        "reconciling object",
        "object.ref" = %object,
        "object.reason" = %reason,
        "reconcile.attempt" = attempt,
        "reconcile.outcome" = tracing::field::Empty,
    )
}

/// A running reconcile, as a future.
pub(super) struct RunningReconcile<K, F> {
    pub(super) key: Arc<ObjectKey>,
    pub(super) object: Arc<K>,
    pub(super) span: Span,
    pub(super) future: F,
}

/// A finished reconcile, with its output.
pub(super) type FinishedReconcile<K, T> = (Arc<ObjectKey>, Arc<K>, Span, T);

impl<K, F: Future + Unpin> Future for RunningReconcile<K, F> {
    type Output = FinishedReconcile<K, F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let _entered = this.span.enter();
        let output = ready!(Pin::new(&mut this.future).poll(cx));
        Poll::Ready((Arc::clone(&this.key), Arc::clone(&this.object), this.span.clone(), output))
    }
}

/// What to do next with an object, and why its reconcile failed.
pub(super) struct Resolution<E> {
    pub(super) action: Action,
    pub(super) failure: Option<ReconcileFailure<E>>,
}

/// Why a reconcile failed.
#[derive(Debug)]
pub(super) enum ReconcileFailure<E> {
    /// It returned an error.
    Failed(E),
    /// It, or the error policy, panicked or timed out.
    Interrupted(Interruption),
    /// Another replica is to reconcile the object.
    Revoked,
}

impl<E> Resolution<E> {
    /// The reconcile was cancelled, because the object is not assigned to this replica any more.
    pub(super) fn revoked() -> Self {
        Self { action: Action::await_change(), failure: Some(ReconcileFailure::Revoked) }
    }
}

impl<E: Debug> Resolution<E> {
    /// `action` is the decision of the error policy or `on_outcome`, unless that was interrupted.
    pub(super) fn new(failure: Option<ReconcileFailure<E>>, action: Result<Action, Interruption>) -> Self {
        match action {
            Ok(action) => Self { action, failure },
            Err(interruption) => {
                if let Some(failure) = failure {
                    tracing::error!(?failure, "the handler of this failure panicked or timed out");
                }
                Self { action: Action::retry(), failure: Some(ReconcileFailure::Interrupted(interruption)) }
            }
        }
    }
}

/// Resolves the outcome of a reconcile by an error policy. Panics and timeouts are retried without calling it.
pub(super) fn resolve_with<K, E: Debug>(
    error_policy: impl Fn(Arc<K>, &E) -> Action,
) -> impl Fn(Arc<K>, Result<Result<Action, E>, Interruption>) -> Resolution<E> {
    move |object, outcome| match outcome {
        Ok(Ok(action)) => Resolution::new(None, Ok(action)),
        Ok(Err(error)) => {
            let action = guard_call(|| error_policy(object, &error));
            Resolution::new(Some(ReconcileFailure::Failed(error)), action)
        }
        Err(interruption) => {
            Resolution::new(Some(ReconcileFailure::Interrupted(interruption)), Ok(Action::retry()))
        }
    }
}
