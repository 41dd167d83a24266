//! Objects whose changes have objects of another cluster reconciled.

use super::{
    cache::Cached,
    error::{BoxError, Ended},
    faults::Faults,
};
use crate::clusters::{Cluster, Look, Work};
use futures::{FutureExt, Stream, StreamExt};
use kube_client::{Api, error::ErrorChain};
use kube_core::panic::panic_message;
use kube_runtime::{
    reflector::{ObjectRef, StoreEvent, StoreEvents, store_shared},
    watcher::{self, Event, WatchMonitor},
};
use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

/// The capacity of the queue of changes, at first.
const QUEUE: usize = 64;

/// What of each cluster has objects of the hub reconciled.
#[derive(Clone)]
pub(super) struct TriggersHub {
    pub(super) name: Arc<str>,
    /// Makes its watch on a cluster.
    pub(super) make: Arc<dyn Fn(&Cluster) -> WatchOnCluster + Send + Sync>,
}

/// A watch of one cluster.
pub(super) struct WatchOnCluster {
    /// Its API path.
    pub(super) path: String,
    pub(super) work: Work,
}

impl WatchOnCluster {
    /// Watches these objects, and sends what `mapper` returns for them.
    pub(super) fn new<O: Cached, T, I>(
        name: Arc<str>,
        cluster: &Cluster,
        (api, config): (Api<O>, watcher::Config),
        mapper: impl Fn(&O) -> I + Send + Sync + 'static,
        send: impl Fn(T) + Send + Sync + 'static,
    ) -> Self
    where
        T: Clone + Eq + Hash + Send + 'static,
        I: IntoIterator<Item = T> + 'static,
    {
        let path = api.resource_url().to_owned();
        let monitor = WatchMonitor::new(&name, &O::kind(&O::DynamicType::default()));
        let (store, writer) = store_shared::<O>(QUEUE);
        cluster.set_store(&name, store.clone());
        let kept = cluster.forget_store_at_end(&name);
        let changes = writer.subscribe_events();
        let faults = Arc::new(Faults::default());
        let (noted, watched, shown) = (Arc::clone(&faults), Arc::clone(&name), monitor.clone());
        let span = tracing::info_span!("cluster", cluster.name = %cluster.name());
        let look = move || {
            let synced = store.is_ready() && shown.shows_present_clusters();
            Look { synced, fault: faults.present(&shown.snapshot(), synced) }
        };
        let run = move |stop: CancellationToken, _: &TaskTracker| {
            let work = async move {
                let _kept = kept;
                let Some(changes) = changes else { return Err(BoxError::from(Ended)) };
                let events = writer.watch_monitored(api, config, &monitor);
                tokio::select! {
                    () = fill(&watched, events, &noted) => Err(Ended.into()),
                    () = follow(&watched, changes, mapper, send) => Err(Ended.into()),
                    () = stop.cancelled() => Ok(()),
                }
            };
            work.instrument(span).boxed()
        };
        Self { path, work: Work { name, look: Box::new(look), run: Box::new(run) } }
    }
}

/// Polls the watch of a store.
async fn fill<O: Cached>(
    name: &str,
    events: impl Stream<Item = watcher::Result<Event<ObjectRef<O>>>>,
    faults: &Faults,
) {
    let mut events = pin!(events);
    while let Some(event) = events.next().await {
        if let Err(error) = event
            && !faults.note(&error, Instant::now())
        {
            tracing::warn!(name, error = %ErrorChain(&error), "a watch failed, and is retried");
        }
    }
}

/// Sends what `mapper` returns for each object that is there, comes, changes or goes, and what it returned for the state before. A panic
/// of it is an error in the log, and sends the latter only.
pub(super) async fn follow<O: Cached, T, I>(
    name: &str,
    mut changes: StoreEvents<O>,
    mapper: impl Fn(&O) -> I,
    send: impl Fn(T),
) where
    T: Clone + Eq + Hash,
    I: IntoIterator<Item = T>,
{
    let mut targets = Targets::default();
    while let Some(change) = changes.next().await {
        let object = change.object();
        let key = ObjectRef::from_obj(&**object);
        let mapped = catch_unwind(AssertUnwindSafe(|| mapper(object).into_iter().collect::<Vec<_>>()));
        let mapped = mapped.map_err(|panic| {
            let panic = panic_message(&*panic);
            tracing::error!(name, object = %key, panic, "the mapper panicked; what it returned before is reconciled");
        });
        let is_present = matches!(change, StoreEvent::Applied(_));
        targets.changed((key.namespace, key.name), mapped.ok(), is_present).into_iter().for_each(&send);
    }
}

/// What was returned for the objects that there are, by namespace and name. No I/O.
struct Targets<T>(HashMap<(Option<String>, String), Vec<T>>);

impl<T> Default for Targets<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Clone + Eq + Hash> Targets<T> {
    /// An object has changed, or gone. Returns what is to be reconciled, each once. `mapped` is `None` where it is not known.
    fn changed(&mut self, key: (Option<String>, String), mapped: Option<Vec<T>>, is_present: bool) -> Vec<T> {
        let before = self.0.remove(&key).unwrap_or_default();
        let present = mapped.clone().unwrap_or_else(|| before.clone());
        if is_present && !present.is_empty() {
            self.0.insert(key, present);
        }
        let mut seen = HashSet::new();
        let all = mapped.into_iter().flatten().chain(before);
        all.filter(|target| seen.insert(target.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::Cell, hash::Hasher, rc::Rc};

    #[test]
    fn what_an_object_was_mapped_to_is_reconciled_when_it_is_mapped_to_something_else_or_goes() {
        let mut targets = Targets::default();
        let mut changed = |name: &str, mapped: Option<&[&'static str]>, is_present| {
            targets.changed((None, name.to_owned()), mapped.map(<[_]>::to_vec), is_present)
        };
        assert_eq!(changed("a", Some(&["x", "y", "x"]), true), ["x", "y"]);
        assert_eq!(changed("b", Some(&["x"]), true), ["x"]);
        assert_eq!(changed("a", Some(&["z"]), true), ["z", "x", "y"]);
        assert_eq!(changed("a", None, true), ["z"], "the mapper panicked");
        assert_eq!(changed("a", Some(&[]), true), ["z"]);
        assert_eq!(changed("a", Some(&[]), true), [""; 0]);
        assert_eq!(changed("b", Some(&["w"]), false), ["w", "x"], "its last state is another one");
        assert!(targets.0.is_empty(), "nothing is kept");
    }

    /// Counts how often it is compared.
    #[derive(Clone, Debug)]
    struct Counted(usize, Rc<Cell<usize>>);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted {}

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    /// An object of the hub may be mapped to each object of each member.
    #[test]
    fn the_cost_of_a_change_is_that_of_its_targets_and_not_of_their_square() {
        const TARGETS: usize = 10_000;
        let (comparisons, mut targets) = (Rc::new(Cell::new(0)), Targets::default());
        for _ in 0..2 {
            let mapped = (0..TARGETS).map(|number| Counted(number, Rc::clone(&comparisons))).collect();
            assert_eq!(targets.changed((None, "a".to_owned()), Some(mapped), true).len(), TARGETS);
        }
        assert!(comparisons.get() < 4 * TARGETS, "{}", comparisons.get());
    }
}
