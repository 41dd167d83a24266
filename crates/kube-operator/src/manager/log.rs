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
            let advice = advice(failed);
            tracing::warn!(controller, error = %chain, advice, "a watch of the controller failed, and is retried");
        }
        Error::ReconcilerFailed(..) => {
            tracing::warn!(controller, "object.ref" = object, error = %chain, "a reconcile failed");
        }
        _ => tracing::warn!(controller, "object.ref" = object, error = %chain, "controller error"),
    }
}

/// What to do about a watch that failed, if the response tells.
pub(super) fn advice(error: &watcher::Error) -> Option<&'static str> {
    let code = match error {
        watcher::Error::InitialListFailed(kube_client::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube_client::Error::Api(status))
        | watcher::Error::WatchFailed(kube_client::Error::Api(status)) => status.code,
        watcher::Error::WatchError(status) => status.code,
        _ => return None,
    };
    match code {
        404 => Some("is the CRD installed, and does it serve this version?"),
        403 => Some("does a role of this program permit it?"),
        401 => Some("are the credentials of this program valid?"),
        _ => None,
    }
}
