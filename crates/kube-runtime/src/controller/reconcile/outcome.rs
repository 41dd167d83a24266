//! How a reconcile ended, and what happens next.

use super::{
    action::Action,
    guard::{Interruption, guard_call},
};
use kube_core::reconcile::OwnWrite;
use std::{fmt::Debug, sync::Arc, time::Duration};

/// How a reconcile ended: see [`Reconcile::on_outcome`](super::Reconcile::on_outcome).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<'a, E> {
    /// It returned this action.
    Succeeded(Action),
    /// It returned this error.
    Failed(&'a E),
    /// It panicked with this message, possibly while its future was dropped.
    Panicked(&'a str),
    /// It was cancelled after this [timeout](crate::Config::timeout).
    TimedOut(Duration),
}

/// What to do next with an object, and why its reconcile failed.
pub(crate) struct Resolution<E> {
    pub(crate) action: Action,
    pub(crate) failure: Option<ReconcileFailure<E>>,
    /// What the reconcile wrote. Empty if it ran without a scope.
    pub(crate) writes: Vec<OwnWrite>,
}

/// Why a reconcile failed.
#[derive(Debug)]
pub(crate) enum ReconcileFailure<E> {
    /// It returned an error.
    Failed(E),
    /// It, or the error policy, panicked or timed out.
    Interrupted(Interruption),
    /// Another replica is to reconcile the object.
    Revoked,
}

impl<E> Resolution<E> {
    /// The reconcile was cancelled, because the object is not assigned to this replica any more.
    pub(crate) fn revoked() -> Self {
        Self::with(Action::await_change(), Some(ReconcileFailure::Revoked))
    }

    const fn with(action: Action, failure: Option<ReconcileFailure<E>>) -> Self {
        Self { action, failure, writes: Vec::new() }
    }
}

impl<E: Debug> Resolution<E> {
    /// `action` is the decision of the error policy or `on_outcome`, unless that was interrupted.
    pub(crate) fn new(failure: Option<ReconcileFailure<E>>, action: Result<Action, Interruption>) -> Self {
        match action {
            Ok(action) => Self::with(action, failure),
            Err(interruption) => {
                if let Some(failure) = failure {
                    let failure = guard_call(|| format!("{failure:?}")); // its `Debug` is user code
                    tracing::error!(?failure, "the handler of this failure panicked or timed out");
                }
                Self::with(Action::retry(), Some(ReconcileFailure::Interrupted(interruption)))
            }
        }
    }
}

/// Resolves the outcome of a reconcile by an error policy. Panics and timeouts are retried without calling it.
pub(crate) fn resolve_with<K, E: Debug>(
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
