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

    /// Sees how each reconcile ended, panics and timeouts included, and says what to do next.
    ///
    /// Called once after each reconcile, also if that was cancelled by the [timeout](super::Config::timeout); not if
    /// the controller's output is dropped before. The timeout holds for this call as well. If it does not come to
    /// its end itself, that is the error in the output, and the object is reconciled again as after [`Action::retry`].
    ///
    /// Default: what the reconcile returned; [`on_error`](Self::on_error) after an error; [`Action::retry`] after a
    /// panic or a timeout. An implementation that replaces it decides whether `on_error` is called.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_runtime::controller::{Action, Outcome, Reconcile};
    /// use std::{fmt, sync::Arc, time::Duration};
    ///
    /// struct Patient;
    ///
    /// impl Reconcile<ConfigMap> for Patient {
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

/// How a reconcile ended: see [`Reconcile::on_outcome`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<'a, E> {
    /// It returned this action.
    Succeeded(Action),
    /// It returned this error.
    Failed(&'a E),
    /// It panicked, also if that was while its future was dropped. The panic said this.
    Panicked(&'a str),
    /// It was cancelled after so long, which is the [timeout](super::Config::timeout).
    TimedOut(Duration),
}

/// What becomes of an object, and why its reconcile did not succeed.
pub(super) struct Judged<E> {
    pub(super) action: Action,
    pub(super) failure: Option<Failure<E>>,
}

/// Why a reconcile did not succeed.
#[derive(Debug)]
pub(super) enum Failure<E> {
    /// It returned an error.
    Failed(E),
    /// It, or what was to decide about its failure, did not come to its end.
    Trouble(Trouble),
}

impl<E: std::fmt::Debug> Judged<E> {
    /// `decided` is what to do after `failure`.
    pub(super) fn new(failure: Option<Failure<E>>, decided: Result<Action, Trouble>) -> Self {
        match decided {
            Ok(action) => Self { action, failure },
            Err(trouble) => {
                if let Some(failure) = failure {
                    tracing::error!(
                        ?failure,
                        "what was to decide about this failure did not come to its end"
                    );
                }
                Self { action: Action::retry(), failure: Some(Failure::Trouble(trouble)) }
            }
        }
    }
}

/// One reconcile by `reconciler`. `limit` is for each of the two calls.
pub(super) async fn reconcile_with<K, R: Reconcile<K>>(
    reconciler: Arc<R>,
    object: Arc<K>,
    limit: Option<Duration>,
) -> Judged<R::Error>
where
    K: Send + Sync,
{
    // In blocks of their own, because a call may panic before it returns its future.
    let reconciled = guard(async { reconciler.reconcile(Arc::clone(&object)).await }, limit).await;
    let outcome = match &reconciled {
        Ok(Ok(action)) => Outcome::Succeeded(action.clone()),
        Ok(Err(error)) => Outcome::Failed(error),
        Err(Trouble::Panicked(message)) => Outcome::Panicked(message),
        Err(Trouble::TimedOut(limit)) => Outcome::TimedOut(*limit),
    };
    let decided = guard(async { reconciler.on_outcome(object, outcome).await }, limit).await;
    let failure = match reconciled {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(Failure::Failed(error)),
        Err(trouble) => Some(Failure::Trouble(trouble)),
    };
    Judged::new(failure, decided)
}
