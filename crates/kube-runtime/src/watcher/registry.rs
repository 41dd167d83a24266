//! The watches of one controller, or of one `WatchMonitor`, as monitors and metrics show them.
//!
//! The shell of a watcher updates its [`RegisteredWatch`] after each step; monitors read it at any time. Both hold its lock for a few
//! assignments.

use super::{
    CollectionEvent,
    config::Config,
    machine::{ListChoice, Machine, Next, Step},
    retry::RetryBackoff,
    undecodable_now::{Undecodable, UndecodableNow},
    watch_status::{Received, StepOutcome, WatchState, WatchStatus},
};
use crate::{
    capacity::release,
    metrics::{Refresh, Subject, WatchMeasurement, WatchMetrics},
};
use hashbrown::HashMap;
use kube_client::client::ClusterChange;
use kube_core::Resource;
use parking_lot::{Mutex, MutexGuard};
use std::{
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// The watches of one controller.
#[derive(Debug, Default)]
pub(crate) struct WatchRegistry {
    watches: Mutex<Vec<Weak<RegisteredWatch>>>,
    /// The controller, once it runs.
    controller: OnceLock<Subject>,
}

impl WatchRegistry {
    /// Sets the controller, before its first watch.
    pub(crate) fn set_controller(&self, controller: &Subject) {
        self.controller.get_or_init(|| controller.clone());
    }

    fn add(&self, kind: &str, namespace: Option<&str>) -> Arc<RegisteredWatch> {
        let nobody = || Subject::alone(&"".into());
        let controller = self.controller.get().cloned().unwrap_or_else(nobody);
        let watch = Arc::new(RegisteredWatch {
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            status: Mutex::new(WatchStatus::new(Instant::now())),
            undecodable: Mutex::default(),
            cluster: OnceLock::new(),
            shown_cluster: AtomicU64::new(0),
            metrics: WatchMetrics::new(&controller, kind),
        });
        self.existing().push(Arc::downgrade(&watch));
        watch
    }

    /// The watches that have not been dropped, in the order in which they were made.
    pub(crate) fn watches(&self) -> Vec<Arc<RegisteredWatch>> {
        self.existing().iter().filter_map(Weak::upgrade).collect()
    }

    /// Whether each of them shows the cluster to which its client leads.
    pub(crate) fn show_present_clusters(&self) -> bool {
        self.watches().iter().all(|watch| watch.shows_present_cluster())
    }

    /// Without those that have been dropped: a weak reference keeps the memory.
    fn existing(&self) -> MutexGuard<'_, Vec<Weak<RegisteredWatch>>> {
        let mut watches = self.watches.lock();
        watches.retain(|watch| watch.strong_count() > 0);
        release(&mut *watches);
        watches
    }
}

impl Refresh for WatchRegistry {
    fn refresh(&self, now: Instant) {
        // The watches of one kind share a time series: that of the longest silent one.
        let watches = self.watches();
        let mut ages: HashMap<&str, (Duration, &WatchMetrics)> = HashMap::new();
        for watch in &watches {
            let facts = watch.status();
            let age = now.saturating_duration_since(facts.received.unwrap_or(facts.since));
            let longest = ages.entry(&watch.kind).or_insert((age, &watch.metrics));
            longest.0 = longest.0.max(age);
        }
        ages.into_values().for_each(|(age, metrics)| metrics.set_age(age));
    }
}

/// One watch.
#[derive(Debug)]
pub(crate) struct RegisteredWatch {
    pub(crate) kind: String,
    /// `None` for all namespaces, and for cluster-scoped kinds.
    pub(crate) namespace: Option<String>,
    status: Mutex<WatchStatus>,
    undecodable: Mutex<UndecodableNow>,
    /// Where its client leads to. Set when it starts.
    cluster: OnceLock<ClusterChange>,
    /// The number of the cluster of which a list was completed, and processed by who polls the watch.
    shown_cluster: AtomicU64,
    pub(crate) metrics: WatchMetrics,
}

impl RegisteredWatch {
    /// Its status at this time.
    pub(crate) fn status(&self) -> WatchStatus {
        self.status.lock().clone()
    }

    /// The objects that cannot be decoded at this time.
    pub(crate) fn undecodable(&self) -> Vec<Undecodable> {
        self.undecodable.lock().objects()
    }

    /// It starts with a client that leads to this cluster.
    pub(super) fn starts(&self, cluster: &ClusterChange) {
        self.shows_cluster(cluster.seen());
        self.cluster.get_or_init(|| cluster.clone());
    }

    /// A list of the cluster with this number was completed and processed.
    pub(super) fn shows_cluster(&self, number: u64) {
        self.shown_cluster.store(number, Ordering::SeqCst);
    }

    fn shows_present_cluster(&self) -> bool {
        let present = self.cluster.get().map(ClusterChange::present);
        present.is_none_or(|present| present == self.shown_cluster.load(Ordering::SeqCst))
    }

    pub(super) fn requesting(&self, next: &Next) {
        let state = match next {
            Next::List(_) => WatchState::Listing,
            Next::Watch(params, _) if params.send_initial_events => WatchState::Listing,
            Next::Watch(..) | Next::CheckVersion => WatchState::Connecting,
            Next::ReadList | Next::Read { .. } => return,
        };
        self.status.lock().state = state;
    }

    /// `bytes`: received by the watch so far.
    pub(super) fn stepped<K: Resource>(&self, received: Received, step: &Step<K>, bytes: u64, now: Instant) {
        let (first, last) = (step.emit.first(), step.emit.last());
        let lists = matches!(first, Some(Ok(CollectionEvent::Init)));
        let synced = matches!(last, Some(Ok(CollectionEvent::Synced { .. })));
        let error = match last {
            Some(Err(error)) => Some(error.to_string()),
            _ => None,
        };
        let undecodable = self.undecodable.lock().step(&step.emit, now);
        let errors = undecodable.errors + u64::from(error.is_some());
        let error = error.or(undecodable.last_error);
        let outcome = StepOutcome { lists, bytes, synced, errors, error, wait: step.wait };
        let mut status = self.status.lock();
        let recovered = status.recovered(received);
        let measurement = status.step(received, outcome, now);
        drop(status);
        let measurement = WatchMeasurement { undecodable: undecodable.objects, ..measurement };
        self.metrics.record(measurement);
        if let Some((since, failures)) = recovered {
            let (kind, namespace, outage) = (&self.kind, self.namespace.as_deref(), now - since);
            tracing::info!(kind, namespace, failures, ?outage, "a watch works again");
        }
    }
}

impl Drop for RegisteredWatch {
    fn drop(&mut self) {
        let gone = WatchMeasurement {
            objects: self.status.get_mut().objects_delta(0),
            undecodable: -self.undecodable.get_mut().len(),
            ..WatchMeasurement::default()
        };
        self.metrics.record(gone);
        // Another watch of the same kind sets it again.
        self.metrics.set_age(Duration::ZERO);
    }
}

/// How a watch retries, and where it is registered.
pub(crate) struct WatchSettings {
    retry: RetryBackoff,
    lists: ListChoice,
    registration: Option<(Arc<WatchRegistry>, String)>,
}

impl From<RetryBackoff> for WatchSettings {
    fn from(retry: RetryBackoff) -> Self {
        Self { retry, lists: ListChoice::default(), registration: None }
    }
}

impl WatchSettings {
    /// Settings of a watch that `registry` shows as one of this kind.
    pub(crate) fn registered(retry: RetryBackoff, registry: Arc<WatchRegistry>, kind: String) -> Self {
        Self { registration: Some((registry, kind)), ..Self::from(retry) }
    }

    /// The same, with lists as `choice` says.
    pub(crate) fn listing(self, lists: ListChoice) -> Self {
        Self { lists, ..self }
    }

    /// The machine of the watch.
    pub(super) fn machine(self, config: Config) -> Machine {
        Machine::new(config, self.retry).listing(self.lists)
    }

    pub(super) fn register(&self, namespace: Option<&str>) -> Option<Arc<RegisteredWatch>> {
        let (registry, kind) = self.registration.as_ref()?;
        Some(registry.add(kind, namespace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watcher::WatchHealth;
    use kube_core::params::{ListParams, WatchParams};

    #[test]
    fn a_request_shows_what_it_is_for() {
        let registered = WatchRegistry::default().add("Pod", None);
        let watch = |send_initial_events| {
            Next::Watch(WatchParams { send_initial_events, ..WatchParams::default() }, String::new())
        };
        for (next, state) in [
            (watch(false), WatchState::Connecting),
            (watch(true), WatchState::Listing),
            (Next::CheckVersion, WatchState::Connecting),
            (Next::List(ListParams::default()), WatchState::Listing),
            (Next::ReadList, WatchState::Listing),
            (Next::Read { idle_timeout: Duration::ZERO }, WatchState::Listing),
        ] {
            registered.requesting(&next);
            assert_eq!(registered.status().state, state, "{next:?}");
        }
    }

    #[test]
    fn a_dropped_watch_leaves_the_registry() {
        let registry = Arc::new(WatchRegistry::default());
        let registered = registry.add("Pod", Some("shop"));
        assert_eq!(registry.watches()[0].namespace.as_deref(), Some("shop"));
        drop(registered);
        assert!(registry.watches().is_empty());
        let memory = allocation_counter::measure(|| {
            drop((0..1000).map(|_| registry.add("Pod", None)).collect::<Vec<_>>());
            assert!(registry.watches().is_empty());
        });
        assert!(memory.bytes_current < 5_000, "{memory:?}");
        let _another = registry.add("Pod", Some("stage"));
        assert_eq!(registry.watches.lock().len(), 1, "nothing is left of it");
    }

    #[test]
    fn an_event_of_a_watch_costs_no_allocation() {
        let registry = WatchRegistry::default();
        let (registered, now) = (registry.add("Pod", None), Instant::now());
        let (emit, wait, health) = (Vec::new(), Duration::ZERO, WatchHealth::default());
        let step = Step::<k8s_openapi::api::core::v1::ConfigMap> { emit, wait, health };
        let memory = allocation_counter::measure(|| {
            (0..1000).for_each(|_| registered.stepped(Received::Modified, &step, 0, now));
        });
        assert_eq!(memory.count_total, 0);
    }
}
