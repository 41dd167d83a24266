//! The items of a controller's output.

use crate::{
    controller::{
        error::Error as ControllerError,
        observe::log,
        reconcile::{Action, ReconcileFailure, ReconcileReason},
        runner_error::Error,
    },
    reflector::ObjectRef,
};
use kube_core::Resource;

/// An item of the output of a controller.
pub(super) type ReconcileResult<K, E, Q> = Result<(ObjectRef<K>, Action), ControllerError<E, Q>>;

/// The item for a reconcile of the object that ended with `action`, and the reason of the reconcile that the action requests.
pub(super) fn result_of<K, E, Q>(
    failure: Option<ReconcileFailure<E>>,
    object_ref: ObjectRef<K>,
    action: &Action,
) -> (ReconcileReason, ReconcileResult<K, E, Q>)
where
    K: Resource + 'static,
    E: std::error::Error + 'static,
    Q: std::error::Error + 'static,
{
    match failure {
        None => (ReconcileReason::ReconcilerRequestedRetry, Ok((object_ref, action.clone()))),
        Some(ReconcileFailure::Failed(error)) => {
            let error = ControllerError::ReconcilerFailed(error, Box::new(object_ref.erase()));
            (ReconcileReason::ErrorPolicyRequestedRetry, Err(error))
        }
        Some(ReconcileFailure::Revoked) => {
            let error = Error::Revoked { object: Box::new(object_ref.erase()) };
            log::cancelled(&error);
            (ReconcileReason::BulkReconcile, Err(ControllerError::RunnerError(error)))
        }
        Some(ReconcileFailure::Interrupted(interruption)) => {
            let error = Error::from_interruption(interruption, Box::new(object_ref.erase()));
            log::interrupted(&error);
            (ReconcileReason::ErrorPolicyRequestedRetry, Err(ControllerError::RunnerError(error)))
        }
    }
}
