//! What can go wrong with running reconcilers.

use super::{
    Error as ControllerError,
    guard::{CallbackPanic, Trouble},
};
use crate::reflector::ObjectRef;
use kube_core::DynamicObject;
use std::time::Duration;

/// What can go wrong with running reconcilers, apart from what they report themselves.
///
/// `R` is what can go wrong with waiting for the store.
#[derive(Debug, thiserror::Error)]
pub enum Error<R: std::error::Error + 'static> {
    /// The store can never become ready, so nothing can be reconciled. The controller ends.
    #[error("the store of the controller never became ready: {0}")]
    Readiness(#[source] R),
    /// The reconciler of this object, or the error policy, panicked. The object is reconciled again as after
    /// [`Action::retry`](super::Action::retry).
    #[error("the reconciler of {object} panicked: {message}")]
    Panicked {
        /// The object that was reconciled.
        object: Box<ObjectRef<DynamicObject>>,
        /// What the panic said.
        message: String,
    },
    /// The reconciler of this object took longer than [`Config::timeout`](super::Config::timeout) allows. The object is reconciled again as
    /// after [`Action::retry`](super::Action::retry).
    #[error("the reconciler of {object} was not done after {limit:?}: it was cancelled")]
    TimedOut {
        /// The object that was reconciled.
        object: Box<ObjectRef<DynamicObject>>,
        /// The time it had.
        limit: Duration,
    },
    /// A function that the controller called with this object panicked: a mapper, which is called with related
    /// objects, or that of an index.
    ///
    /// Whatever the mapper named before is reconciled. In the index, the object is not found.
    #[error("the {callback} panicked at {object}: {message}")]
    CallbackPanicked {
        /// Which function: `mapper` or `index`.
        callback: &'static str,
        /// The object that it was called with.
        object: Box<ObjectRef<DynamicObject>>,
        /// What the panic said.
        message: String,
    },
}

impl<R: std::error::Error + 'static> Error<R> {
    pub(super) fn from_trouble(trouble: Trouble, object: Box<ObjectRef<DynamicObject>>) -> Self {
        match trouble {
            Trouble::Panicked(message) => Self::Panicked { object, message },
            Trouble::TimedOut(limit) => Self::TimedOut { object, limit },
        }
    }
}

impl<E, Q> From<CallbackPanic> for ControllerError<E, Q> {
    fn from(panic: CallbackPanic) -> Self {
        let CallbackPanic { callback, object, message } = panic;
        tracing::error!(callback, %object, message, "a function of the controller's user panicked");
        Self::RunnerError(Error::CallbackPanicked { callback, object, message })
    }
}
