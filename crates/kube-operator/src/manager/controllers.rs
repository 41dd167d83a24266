//! Running controllers.

use super::{
    cache::CacheSync,
    error::{BoxError, Ended},
    log::log_error,
    permissions::{Reconciling, Refusals},
};
use futures::{Stream, StreamExt, TryFuture, TryFutureExt, future::BoxFuture};
use kube_core::Resource;
use kube_runtime::{
    Controller,
    controller::{Action, Assignments, Error, Monitor, Outcome, Reconcile, RunnerError},
    reflector::ObjectRef,
    watcher,
};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash, sync::Arc};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// A kind that a managed controller reconciles.
pub trait Managed:
    Clone
    + Resource<DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync>
    + DeserializeOwned
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<K> Managed for K where
    K: Clone
        + Resource<DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync>
        + DeserializeOwned
        + Debug
        + Send
        + Sync
        + 'static
{
}

/// A controller that is ready to run.
pub(super) struct ManagedController {
    pub(super) name: Arc<str>,
    pub(super) monitor: Monitor,
    /// The API paths that it watches.
    pub(super) paths: Vec<String>,
    /// Whether it runs while its kind is served only: an optional part, which does not decide on the readiness of the rest.
    pub(super) while_served: bool,
    /// Those that it runs with on the hub: where it is aborted, they may go on until their next `await`.
    pub(super) reconciles: TaskTracker,
    pub(super) run: RunController,
}

/// Runs a controller until the token is cancelled. The tracker has its reconciles.
type RunController = Box<
    dyn FnOnce(Surroundings, CancellationToken, &TaskTracker) -> BoxFuture<'static, Result<(), BoxError>>
        + Send,
>;

/// Told of each error of a watch. Returns whether the log has it in another way.
pub(super) type WatchErrors = Box<dyn Fn(&watcher::Error) -> bool + Send + Sync>;

/// What a controller runs with.
pub(super) struct Surroundings {
    pub(super) assignments: Option<Assignments>,
    /// It starts no reconcile before these are in sync.
    pub(super) caches: Vec<CacheSync>,
    /// Whether it prefers streaming lists.
    pub(super) streaming_lists: bool,
    pub(super) refusals: Refusals,
    pub(super) watch_errors: Option<WatchErrors>,
}

impl ManagedController {
    pub(super) fn new<K: Managed, Ctx, F>(
        name: &str,
        controller: Controller<K>,
        mut reconciler: impl FnMut(Arc<K>, Arc<Ctx>) -> F + Send + 'static,
        context: Arc<Ctx>,
    ) -> Self
    where
        Ctx: Send + Sync + 'static,
        F: TryFuture<Ok = Action> + Send + 'static,
        F::Error: std::error::Error + Send + Sync + 'static,
    {
        Self::with(name, controller, |controller, reconciles| {
            let tracked = move |object, context| {
                reconciles.track_future(TryFutureExt::into_future(reconciler(object, context)))
            };
            controller.run(tracked, |_, _: &F::Error, _| Action::retry(), context)
        })
    }

    pub(super) fn with_reconciler<K: Managed>(
        name: &str,
        controller: Controller<K>,
        reconciler: impl Reconcile<K>,
    ) -> Self {
        Self::with(name, controller, |controller, reconciles| {
            controller.run_with(Tracked { reconciler, _token: reconciles.token() })
        })
    }

    fn with<K: Managed, E, S>(
        name: &str,
        controller: Controller<K>,
        run: impl FnOnce(Controller<K>, TaskTracker) -> S + Send + 'static,
    ) -> Self
    where
        E: std::error::Error + Send + Sync + 'static,
        S: Stream<Item = Result<(ObjectRef<K>, Action), Error<E, watcher::Error>>> + Send + 'static,
    {
        let controller = controller.named(name).wait_for_own_writes_by_default();
        let (monitor, paths) = (controller.monitor(), controller.watched_paths());
        let name: Arc<str> = name.into();
        let in_all_namespaces = paths.iter().any(|path| !path.contains("/namespaces/"));
        let reconciling = Reconciling { name: Arc::clone(&name), in_all_namespaces };
        let run: RunController = Box::new(move |surroundings, stop, reconciles| {
            let Surroundings { assignments, caches, streaming_lists, refusals, watch_errors } = surroundings;
            let controller = controller.graceful_shutdown_on(stop.clone().cancelled_owned());
            let controller = if streaming_lists { controller.prefer_streaming_lists() } else { controller };
            let controller = caches.into_iter().fold(controller, |controller, cache| {
                let store = cache.store();
                let (waiting_for, ready) = cache.gate();
                controller.reads(store).reconcile_after(waiting_for, ready)
            });
            let controller = match assignments {
                Some(assignments) => controller.assigned_by(assignments),
                None => controller,
            };
            let output = run(controller, reconciles.clone());
            Box::pin(poll(reconciling, output, refusals, watch_errors, stop))
        });
        Self { name, monitor, paths, while_served: false, reconciles: TaskTracker::new(), run }
    }
}

/// A reconciler. Each of its reconciles has it, and so the token is dropped after the last one.
struct Tracked<R> {
    reconciler: R,
    _token: TaskTrackerToken,
}

impl<K: Send + Sync, R: Reconcile<K>> Reconcile<K> for Tracked<R> {
    type Error = R::Error;

    fn reconcile(&self, object: Arc<K>) -> impl Future<Output = Result<Action, R::Error>> + Send {
        self.reconciler.reconcile(object)
    }

    fn on_error(&self, object: Arc<K>, error: &R::Error) -> impl Future<Output = Action> + Send {
        self.reconciler.on_error(object, error)
    }

    fn on_outcome(
        &self,
        object: Arc<K>,
        outcome: Outcome<'_, R::Error>,
    ) -> impl Future<Output = Action> + Send {
        self.reconciler.on_outcome(object, outcome)
    }
}

/// Polls the output of a controller to its end, and logs its errors.
async fn poll<K, E>(
    controller: Reconciling,
    output: impl Stream<Item = Result<(ObjectRef<K>, Action), Error<E, watcher::Error>>> + Send,
    refusals: Refusals,
    watch_errors: Option<WatchErrors>,
    stop: CancellationToken,
) -> Result<(), BoxError>
where
    K: Resource<DynamicType: Debug + Clone>,
    E: std::error::Error + Send + Sync + 'static,
{
    let mut output = Box::pin(output);
    let mut reason = None;
    while let Some(item) = output.next().await {
        let error = match item {
            // Every deleted owner of a child that still changes causes an `ObjectNotFound`.
            Ok(_) | Err(Error::ObjectNotFound(_)) => continue,
            Err(error) => error,
        };
        let is_logged = match (&error, &watch_errors) {
            (Error::QueueError(error), Some(told)) => told(error),
            _ => false,
        };
        if !is_logged {
            log_error(&controller.name, &error);
        }
        match &error {
            Error::QueueError(error) => refusals.note(error),
            Error::ReconcilerFailed(error, _) => refusals.name_missing(&controller, error),
            _ => {}
        }
        if let Error::RunnerError(
            error @ (RunnerError::Readiness(_)
            | RunnerError::InvalidConfig { .. }
            | RunnerError::SyncTimedOut { .. }),
        ) = error
            && !stop.is_cancelled()
        {
            // It ends the output, but running reconciles still end before.
            reason.get_or_insert(error);
        }
    }
    match reason {
        Some(error) => Err(Box::new(error)),
        None if stop.is_cancelled() => Ok(()),
        None => Err(Box::new(Ended)),
    }
}
