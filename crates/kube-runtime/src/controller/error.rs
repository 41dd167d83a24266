//! What the output of a controller reports besides success.

use super::RunnerError;
use crate::reflector::ObjectRef;
use kube_core::DynamicObject;

/// Why one item of a controller's output is not a reconciled object. The controller goes on.
#[derive(Debug, thiserror::Error)]
pub enum Error<ReconcilerErr: 'static, QueueErr: 'static> {
    /// Something asked for a reconcile of an object that is not there (any more).
    #[error("{0} was to be reconciled but is not in the store: it was deleted, or never existed")]
    ObjectNotFound(Box<ObjectRef<DynamicObject>>),
    /// The reconciler of this object failed. What happens next is up to the error policy.
    #[error("the reconciler of {1} failed: {0}")]
    ReconcilerFailed(#[source] ReconcilerErr, Box<ObjectRef<DynamicObject>>),
    /// A stream that triggers reconciles failed. Watchers try again by themselves.
    #[error("a stream of triggers failed: {0}")]
    QueueError(#[source] QueueErr),
    /// Reconcilers could not be run as they should.
    #[error("running reconcilers failed: {0}")]
    RunnerError(#[source] RunnerError),
}
