//! Starting a controller: the methods `run` and `run_with`.

use super::{result::ReconcileResult, runner::Runner};
use crate::{
    controller::{
        builder::Controller,
        reconcile::{Action, Reconcile, Resolution, guard_try, reconcile_with, resolve_with},
        scope::Marks,
        shutdown::Shutdown,
    },
    metrics,
    reflector::ObjectKey,
    task::CancelableJoinHandle,
    watcher,
};
use futures::{
    FutureExt, Stream, StreamExt, TryFuture, TryStreamExt,
    future::{self, Either},
};
use kube_client::reconcile::ReconcileScope;
use kube_core::{Resource, reconcile::OwnWrite};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, future::Future, hash::Hash, sync::Arc};
use tokio::runtime::Handle;
use tracing::Instrument;

impl<K> Controller<K>
where
    K: Clone + Resource + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// Runs the controller: the returned stream has an item for each reconcile and each error.
    ///
    /// Poll the stream for as long as the controller should run: it drives watches, cache and queue. Each reconcile is a
    /// tokio task, in a span with the fields `object.ref` and `object.reason`, `reconcile.attempt` (see
    /// [`RunningObject::attempt`](crate::controller::RunningObject::attempt)) and, once it has ended, `reconcile.outcome`: `success`,
    /// `requeue`, `requeue_after`, `error`, `panic`, `timeout` or `revoked`.
    ///
    /// `error_policy` decides when an object whose reconcile returned an error is reconciled again. It is not called after
    /// a panic or a timeout: these are errors in the output, and retried as after [`Action::retry`]. It runs in the
    /// same span, but not in the task of the reconcile, so it blocks the rest of the controller while it runs. To handle
    /// failures asynchronously, or to handle panics and timeouts, use [`run_with`](Self::run_with).
    ///
    /// # Cancellation
    ///
    /// Dropping the stream aborts the running reconciles.
    ///
    /// ```
    /// use futures::StreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, controller::Action, watcher};
    /// use std::{convert::Infallible, sync::Arc};
    ///
    /// async fn reconcile(map: Arc<ConfigMap>, greeting: Arc<String>) -> Result<Action, Infallible> {
    ///     println!("{greeting}, {:?}", map.metadata.name);
    ///     Ok(Action::await_change())
    /// }
    ///
    /// async fn run(client: Client) {
    ///     Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
    ///         .run(reconcile, |_, _, _| Action::retry(), Arc::new("hello".to_owned()))
    ///         # .take(1)
    ///         .for_each(async |outcome| match outcome {
    ///             Ok((object, action)) => println!("{object}: {action:?}"),
    ///             Err(error) => eprintln!("{error}"),
    ///         })
    ///         .await;
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
    /// # run(client).await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn run<ReconcilerFut, Ctx>(
        self,
        mut reconciler: impl FnMut(Arc<K>, Arc<Ctx>) -> ReconcilerFut,
        error_policy: impl Fn(Arc<K>, &ReconcilerFut::Error, Arc<Ctx>) -> Action,
        context: Arc<Ctx>,
    ) -> impl Stream<Item = ReconcileResult<K, ReconcilerFut::Error, watcher::Error>>
    where
        K::DynamicType: Debug + Unpin,
        ReconcilerFut: TryFuture<Ok = Action> + Send + 'static,
        ReconcilerFut::Error: std::error::Error + Send + 'static,
    {
        let timeout = self.config.timeout;
        let policy_context = Arc::clone(&context);
        let start = move |object| guard_try(reconciler(object, Arc::clone(&context)), timeout);
        let policy = move |object, error: &ReconcilerFut::Error| {
            error_policy(object, error, Arc::clone(&policy_context))
        };
        self.run_tasks(start, resolve_with(policy))
    }

    /// Like [`run`](Self::run), for a reconciler that is a type and can handle its failures asynchronously.
    ///
    /// ```
    /// use futures::StreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_runtime::{Controller, controller::{Action, Reconcile}, watcher};
    /// use std::{fmt, sync::Arc};
    ///
    /// struct Greeter(String);
    ///
    /// impl Reconcile<ConfigMap> for Greeter {
    ///     type Error = fmt::Error;
    ///
    ///     async fn reconcile(&self, map: Arc<ConfigMap>) -> Result<Action, Self::Error> {
    ///         println!("{}, {:?}", self.0, map.metadata.name);
    ///         Ok(Action::await_change())
    ///     }
    ///
    ///     async fn on_error(&self, map: Arc<ConfigMap>, error: &Self::Error) -> Action {
    ///         eprintln!("{:?}: {error}", map.metadata.name);
    ///         Action::retry()
    ///     }
    /// }
    ///
    /// async fn run(client: Client) {
    ///     Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
    ///         .run_with(Greeter("hello".to_owned()))
    ///         # .take(1)
    ///         .for_each(|_| async {})
    ///         .await;
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
    /// # run(client).await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn run_with<R: Reconcile<K>>(
        self,
        reconciler: R,
    ) -> impl Stream<Item = ReconcileResult<K, R::Error, watcher::Error>>
    where
        K::DynamicType: Debug + Unpin,
    {
        let (timeout, reconciler) = (self.config.timeout, Arc::new(reconciler));
        let start = move |object| reconcile_with(Arc::clone(&reconciler), object, timeout);
        self.run_tasks(start, |_object, resolution| resolution)
    }

    /// `start` makes the future of a reconcile, which is spawned as a task; `resolve` decides what to do after its output.
    fn run_tasks<F, E>(
        self,
        mut start: impl FnMut(Arc<K>) -> F,
        resolve: impl Fn(Arc<K>, F::Output) -> Resolution<E>,
    ) -> impl Stream<Item = ReconcileResult<K, E, watcher::Error>>
    where
        K::DynamicType: Debug + Unpin,
        F: Future<Output: Send> + Send + 'static,
        E: std::error::Error + 'static,
    {
        let observer = self.observer();
        let (marks, coverage) = (self.marks(), self.coverage());
        let Shutdown { graceful, forceful } = self.shutdown;
        let assignments = self.assignments.clone();
        let start_assigned = move |object: Arc<K>| match &assignments {
            None => Either::Left(start(object).map(Some)),
            // Boxed, so that without an assignment, which is usual, each task is small.
            Some(assignments) => Either::Right({
                let term = assignments.begin(ObjectKey::of(&*object));
                let work = term.map(|term| term.run(start(object)));
                async move {
                    // It was taken away since the runner looked: it does not start.
                    work?.await
                }
                .boxed()
            }),
        };
        let mut start_scoped = in_scopes(marks, start_assigned);
        let spawn = move |object| {
            CancelableJoinHandle::spawn(start_scoped(object).in_current_span(), &Handle::current())
        };
        let resolve = move |object, (output, writes): (Option<F::Output>, Vec<OwnWrite>)| match output {
            Some(output) => Resolution { writes, ..resolve(object, output) },
            None => Resolution { writes, ..Resolution::revoked() },
        };
        let (own, store) = self.own.into_parts();
        let (reader, synced_sources) = (store.clone(), self.sources.synced_count());
        let is_ready = move || reader.is_ready();
        let triggers = self.sources.merge(own, observer.watches(), is_ready, &self.config);
        let observed = observer.observed();
        let output = Runner::new(store, triggers, spawn, resolve, graceful, &self.config)
            .wait_for_related(synced_sources)
            .gated_by(self.gates)
            .assigned_by(self.assignments)
            .sharing(self.workers)
            .covering(coverage)
            .observed_by(observer)
            .into_stream();
        metrics::ticking(output, observed)
            .take_until(forceful)
            .map_err(|error| error.map_queue_error(watcher::ErasedError::into_error))
    }
}

/// Runs each future of `start` in a scope of its own, if there are `marks`, and adds what it has written to its output.
fn in_scopes<K, F>(
    marks: Option<Marks>,
    mut start: impl FnMut(Arc<K>) -> F,
) -> impl FnMut(Arc<K>) -> Scoped<F>
where
    K: Resource,
    F: Future<Output: Send> + Send + 'static,
{
    move |object| match &marks {
        None => Either::Left(start(object).map(without_writes::<F> as fn(_) -> _)),
        // Boxed, so that without a scope each task is small.
        Some(marks) => Either::Right({
            let mark = marks.mark(&*object);
            let scope = ReconcileScope::from(mark.clone());
            let work = scope.sync_scope(|| start(object));
            async move { (scope.in_scope(work).await, mark.take_writes()) }.boxed()
        }),
    }
}

fn without_writes<F: Future>(output: F::Output) -> WithWrites<F> {
    (output, Vec::new())
}

/// A future with or without a scope. Its output has what was written.
type Scoped<F> = Either<
    future::Map<F, fn(<F as Future>::Output) -> WithWrites<F>>,
    future::BoxFuture<'static, WithWrites<F>>,
>;

type WithWrites<F> = (<F as Future>::Output, Vec<OwnWrite>);
