//! The [`Reconcile`] trait: a reconciler as a type.

use super::{
    action::Action,
    guard::{Interruption, guard},
    outcome::{Outcome, ReconcileFailure, Resolution},
};
use std::{future::Future, sync::Arc, time::Duration};

/// Reconciles objects of kind `K` and handles failures.
///
/// For [`Controller::run_with`](crate::Controller::run_with). The implementing type holds what its reconciles need, such as
/// clients, in fields.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::controller::{Action, Reconcile};
/// use std::{sync::Arc, time::Duration};
///
/// struct Audit {
///     every: Duration,
/// }
///
/// impl Reconcile<ConfigMap> for Audit {
///     type Error = std::io::Error;
///
///     async fn reconcile(&self, object: Arc<ConfigMap>) -> Result<Action, Self::Error> {
///         println!("{:?}", object.metadata.name);
///         Ok(Action::requeue(self.every))
///     }
/// }
/// ```
pub trait Reconcile<K>: Send + Sync + 'static {
    /// The error of a failed reconcile.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Brings the actual state closer to the desired state of `object`. It is called repeatedly, so it has to be idempotent.
    ///
    /// Its future is dropped at its next `await` when the [timeout](crate::Config::timeout) is reached or the
    /// controller's output is dropped.
    fn reconcile(&self, object: Arc<K>) -> impl Future<Output = Result<Action, Self::Error>> + Send;

    /// Decides what to do after `error`, and may report it, for instance in the object's status or as an event.
    ///
    /// The object is not reconciled while this runs. Default: [`Action::retry`].
    fn on_error(&self, object: Arc<K>, error: &Self::Error) -> impl Future<Output = Action> + Send {
        let _ = (object, error);
        std::future::ready(Action::retry())
    }

    /// Decides what to do after any outcome of a reconcile, including panics and timeouts.
    ///
    /// Called once after each reconcile, also after one cancelled by the [timeout](crate::Config::timeout), but not if the
    /// controller's output is dropped before. The timeout applies to this call as well. If this call panics or times out,
    /// that is the error in the output, and the object is retried as after [`Action::retry`].
    ///
    /// Default: the action that the reconcile returned; [`on_error`](Self::on_error) after an error; [`Action::retry`] after
    /// a panic or a timeout. An implementation that overrides this method decides whether to call `on_error`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::controller::{Action, Outcome, Reconcile};
    /// use std::{fmt, sync::Arc, time::Duration};
    ///
    /// struct SlowRetry;
    ///
    /// impl Reconcile<ConfigMap> for SlowRetry {
    ///     type Error = fmt::Error;
    ///
    ///     async fn reconcile(&self, _object: Arc<ConfigMap>) -> Result<Action, Self::Error> {
    ///         Ok(Action::await_change())
    ///     }
    ///
    ///     async fn on_outcome(&self, object: Arc<ConfigMap>, outcome: Outcome<'_, Self::Error>) -> Action {
    ///         match outcome {
    ///             Outcome::Succeeded(action) => action,
    ///             Outcome::Failed(error) => self.on_error(object, error).await,
    ///             Outcome::Panicked(_) | Outcome::TimedOut(_) => Action::requeue(Duration::from_secs(3600)),
    ///         }
    ///     }
    /// }
    /// ```
    fn on_outcome(
        &self,
        object: Arc<K>,
        outcome: Outcome<'_, Self::Error>,
    ) -> impl Future<Output = Action> + Send
    where
        K: Send + Sync,
    {
        async move {
            match outcome {
                Outcome::Succeeded(action) => action,
                Outcome::Failed(error) => self.on_error(object, error).await,
                Outcome::Panicked(_) | Outcome::TimedOut(_) => Action::retry(),
            }
        }
    }
}

/// Runs one reconcile by `reconciler`, and its `on_outcome`. `timeout` applies to each of the two calls.
pub(crate) async fn reconcile_with<K, R: Reconcile<K>>(
    reconciler: Arc<R>,
    object: Arc<K>,
    timeout: Option<Duration>,
) -> Resolution<R::Error>
where
    K: Send + Sync,
{
    // In async blocks, because a call may panic before it returns its future.
    let reconciled = guard(async { reconciler.reconcile(Arc::clone(&object)).await }, timeout).await;
    let outcome = match &reconciled {
        Ok(Ok(action)) => Outcome::Succeeded(action.clone()),
        Ok(Err(error)) => Outcome::Failed(error),
        Err(Interruption::Panicked(message)) => Outcome::Panicked(message),
        Err(Interruption::TimedOut(timeout)) => Outcome::TimedOut(*timeout),
    };
    let action = guard(async { reconciler.on_outcome(object, outcome).await }, timeout).await;
    let failure = match reconciled {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(ReconcileFailure::Failed(error)),
        Err(interruption) => Some(ReconcileFailure::Interrupted(interruption)),
    };
    Resolution::new(failure, action)
}
