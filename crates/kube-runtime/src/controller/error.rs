//! The errors in the output of a controller.

use super::{
    runner_error::{self, RunnerError},
    source::CallbackPanic,
};
use crate::reflector::ObjectRef;
use kube_core::DynamicObject;

/// An error in the output of a controller. The controller continues.
#[derive(Debug, thiserror::Error)]
pub enum Error<ReconcilerErr: 'static, QueueErr: 'static> {
    /// A reconcile was requested for an object that does not exist, or no longer exists.
    #[error("tried to reconcile object {0} that was not found in local store")]
    ObjectNotFound(Box<ObjectRef<DynamicObject>>),
    /// The reconciler of this object returned an error. The error policy decides what happens next.
    #[error("reconciler for object {1} failed: {0}")]
    ReconcilerFailed(#[source] ReconcilerErr, Box<ObjectRef<DynamicObject>>),
    /// A stream of triggers failed. Watches are retried automatically.
    #[error("a stream of triggers failed: {0}")]
    QueueError(#[source] QueueErr),
    /// A reconciler or another callback panicked or timed out, or the store can never become ready.
    #[error("running reconcilers failed: {0}")]
    RunnerError(#[source] RunnerError),
}

impl<E, Q> Error<E, Q> {
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

impl<E, Q> From<CallbackPanic> for Error<E, Q> {
    fn from(panic: CallbackPanic) -> Self {
        let CallbackPanic { callback, object, message } = panic;
        tracing::error!(callback, "object.ref" = %object, message, "a callback of the controller panicked");
        Self::RunnerError(runner_error::Error::CallbackPanicked { callback, object, message })
    }
}
