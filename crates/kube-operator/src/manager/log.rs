//! What the log says of failed watches and reconciles.

use kube_client::error::ErrorChain;
use kube_runtime::{controller::Error, watcher};

/// One line that a person can act on, with the fields `controller` and `object.ref`.
pub(super) fn log_error<E: std::error::Error + 'static>(controller: &str, error: &Error<E, watcher::Error>) {
    let object = error.object().map(ToString::to_string);
    let object = object.as_deref();
    let chain = ErrorChain(error);
    match error {
        Error::QueueError(failed) => {
            let failed = ErrorChain(failed);
            tracing::warn!(controller, error = %failed, "a watch of the controller failed, and is retried");
        }
        Error::ReconcilerFailed(..) => {
            tracing::warn!(controller, "object.ref" = object, error = %chain, "a reconcile failed");
        }
        _ => tracing::warn!(controller, "object.ref" = object, error = %chain, "controller error"),
    }
}
