//! Reconcilers that are types of their own.

use super::{
    Action,
    guard::{Trouble, guard},
};
use std::{future::Future, sync::Arc, time::Duration};

/// What a controller does with each object of kind `K`, and what after a failure.
///
/// For [`Controller::run_with`](super::Controller::run_with). Whatever reconciles need, such as clients, are fields of
/// the type that implements it.
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
    /// Why a reconcile can fail.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Brings the world closer to what `object` wants. Called again for changes, so it has to be idempotent.
    ///
    /// Its future is dropped at its next `await` when the [timeout](super::Config::timeout) is reached or the
    /// controller's output is dropped.
    fn reconcile(&self, object: Arc<K>) -> impl Future<Output = Result<Action, Self::Error>> + Send;

    /// Says what to do after `error`, and may note it somewhere, such as in the object's status or as an event.
    ///
    /// The object is not reconciled while this runs. Default: [`Action::retry`].
    fn on_error(&self, object: Arc<K>, error: &Self::Error) -> impl Future<Output = Action> + Send {
        let _ = (object, error);
        std::future::ready(Action::retry())
    }
}

/// What becomes of an object, and the error of its reconciler if it had one.
pub(super) type Judged<E> = Result<(Action, Option<E>), Trouble>;

/// One reconcile by `reconciler`. `limit` is for each of the two calls.
pub(super) async fn reconcile_with<K, R: Reconcile<K>>(
    reconciler: Arc<R>,
    object: Arc<K>,
    limit: Option<Duration>,
) -> Judged<R::Error>
where
    K: Send + Sync,
{
    match guard(reconciler.reconcile(Arc::clone(&object)), limit).await? {
        Ok(action) => Ok((action, None)),
        Err(error) => {
            let action = guard(reconciler.on_error(object, &error), limit).await?;
            Ok((action, Some(error)))
        }
    }
}
