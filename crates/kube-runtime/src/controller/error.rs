//! The errors in the output of a controller.

use super::{
    runner_error::{self, RunnerError},
    source::{CallbackPanic, SourcePanic},
};
use crate::{reflector::ObjectRef, unwind::Guarded};
use kube_core::DynamicObject;
use std::fmt;

/// An error in the output of a controller. The controller continues.
///
/// `{}` does not panic, also if the [`Display`](std::fmt::Display) of the reconciler's error does.
#[derive(Debug, thiserror::Error)]
pub enum Error<ReconcilerErr: 'static, QueueErr: 'static> {
    /// A reconcile was requested for an object that does not exist, or no longer exists.
    ObjectNotFound(Box<ObjectRef<DynamicObject>>),
    /// The reconciler of this object returned an error. The error policy decides what happens next.
    ReconcilerFailed(#[source] ReconcilerErr, Box<ObjectRef<DynamicObject>>),
    /// A watch of the controller failed, or another source of its triggers. Watches are retried automatically.
    QueueError(#[source] QueueErr),
    /// A reconciler or another callback panicked or timed out, or the store can never become ready.
    RunnerError(#[source] RunnerError),
}

impl<E: fmt::Display, Q: fmt::Display> fmt::Display for Error<E, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ObjectNotFound(object) => {
                write!(f, "tried to reconcile object {object} that was not found in local store")
            }
            Self::ReconcilerFailed(error, object) => {
                write!(f, "reconciler for object {object} failed: {}", Guarded(error))
            }
            Self::QueueError(error) => write!(f, "a watch of the controller failed: {error}"),
            Self::RunnerError(error) => write!(f, "running reconcilers failed: {error}"),
        }
    }
}

impl<E, Q> Error<E, Q> {
    /// The object that the error is about; `None` if it is about the controller as a whole.
    pub fn object(&self) -> Option<&ObjectRef<DynamicObject>> {
        use runner_error::Error as R;
        match self {
            Self::ObjectNotFound(object) | Self::ReconcilerFailed(_, object) => Some(object),
            Self::RunnerError(
                R::Panicked { object, .. }
                | R::TimedOut { object, .. }
                | R::Revoked { object }
                | R::Undecodable { object, .. }
                | R::CallbackPanicked { object, .. },
            ) => Some(object),
            Self::RunnerError(
                R::Readiness(_) | R::InvalidConfig { .. } | R::SyncTimedOut { .. } | R::SourcePanicked { .. },
            )
            | Self::QueueError(_) => None,
        }
    }

    /// The same error, with what `convert` returns for an error of the triggers.
    pub(super) fn map_queue_error<T>(self, convert: impl FnOnce(Q) -> T) -> Error<E, T> {
        match self {
            Self::ObjectNotFound(object) => Error::ObjectNotFound(object),
            Self::ReconcilerFailed(error, object) => Error::ReconcilerFailed(error, object),
            Self::QueueError(error) => Error::QueueError(convert(error)),
            Self::RunnerError(error) => Error::RunnerError(error),
        }
    }
}

impl<E, Q> From<SourcePanic> for Error<E, Q> {
    fn from(panic: SourcePanic) -> Self {
        let error = runner_error::Error::SourcePanicked { name: panic.source, message: panic.message };
        tracing::error!(%error, "a source of the controller panicked");
        Self::RunnerError(error)
    }
}

impl<E, Q> From<CallbackPanic> for Error<E, Q> {
    fn from(panic: CallbackPanic) -> Self {
        let CallbackPanic { callback, object, message } = panic;
        tracing::error!(callback, "object.ref" = %object, message, "a callback of the controller panicked");
        Self::RunnerError(runner_error::Error::CallbackPanicked { callback, object, message })
    }
}
