//! Reconciling from a queue of the program, without watches.

use super::{result::ReconcileResult, runner::Runner};
use crate::{
    controller::{
        config::Config,
        reconcile::{Action, ReconcileRequest, guard_try, resolve_with},
        source::Trigger,
    },
    reflector::store::Store,
};
use futures::{FutureExt, Stream, TryFuture, TryStream, TryStreamExt, future};
use kube_core::Resource;
use std::{fmt::Debug, hash::Hash, sync::Arc};

/// Calls `reconciler` for the objects requested by `queue`. This is the inner part of a
/// [`Controller`](crate::Controller), which is easier to use.
///
/// Objects are taken from `store`; no reconcile starts before it is ready. Reconciles run while the returned stream is
/// polled. After the end of `queue`, pending requests are still reconciled, and then the stream ends.
///
/// ```
/// use futures::{StreamExt, stream};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::{applier, controller::Action, reflector::{self, ObjectRef}, watcher::Event};
/// use std::{convert::Infallible, sync::Arc};
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
///
/// let (store, mut writer) = reflector::store::<ConfigMap>();
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("a".into());
/// for event in [Event::Init, Event::InitApply(map), Event::InitDone] {
///     writer.apply_watcher_event(&event);
/// }
/// let requests = stream::iter([Ok::<_, Infallible>(ObjectRef::new("a"))]);
/// let results = applier(
///     |_map, _context: Arc<()>| Box::pin(async { Ok::<_, Infallible>(Action::await_change()) }),
///     |_, _, _| Action::retry(),
///     Arc::new(()),
///     store,
///     requests,
///     Default::default(),
/// );
/// assert_eq!(results.count().await, 1);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn applier<K, QueueStream, ReconcilerFut, Ctx>(
    mut reconciler: impl FnMut(Arc<K>, Arc<Ctx>) -> ReconcilerFut,
    error_policy: impl Fn(Arc<K>, &ReconcilerFut::Error, Arc<Ctx>) -> Action,
    context: Arc<Ctx>,
    store: Store<K>,
    queue: QueueStream,
    config: Config,
) -> impl Stream<Item = ReconcileResult<K, ReconcilerFut::Error, QueueStream::Error>>
where
    K: Clone + Resource + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin,
    ReconcilerFut: TryFuture<Ok = Action> + Unpin,
    ReconcilerFut::Error: std::error::Error + 'static,
    QueueStream: TryStream,
    QueueStream::Ok: Into<ReconcileRequest<K>>,
    QueueStream::Error: std::error::Error + 'static,
{
    let timeout = config.timeout;
    let policy_context = Arc::clone(&context);
    Runner::new(
        store,
        queue.map_ok(|request| Trigger::from(request.into())),
        move |object| guard_try(reconciler(object, Arc::clone(&context)), timeout),
        resolve_with(move |object, error: &ReconcilerFut::Error| {
            error_policy(object, error, Arc::clone(&policy_context))
        }),
        future::pending().boxed(),
        &config,
    )
    .into_stream()
}
