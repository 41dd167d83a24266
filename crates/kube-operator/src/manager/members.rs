//! Controllers on many clusters: what a manager runs on each of them.

use super::{
    controllers::{ManagedController, Surroundings},
    permissions::Refusals,
    removal::{OnRemoved, clean_up},
};
use crate::clusters::{
    Cluster, ClusterOptions, Clusters, Fault, Fleet, FleetRun, Look, MakeWork, Work, fault_of_class,
};
use futures::FutureExt;
use kube_client::{
    Client,
    error::{ErrorChain, ErrorClass},
};
use kube_runtime::{
    controller::{Assignments, WatchSnapshot, WorkerLane},
    watcher,
};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;
use tracing::Instrument;

/// The name of what runs the clusters.
pub(super) const CLUSTERS: &str = "the clusters";

/// The clusters of a manager besides its own.
#[derive(Default)]
pub(super) struct Members {
    pub(super) providers: Vec<Clusters>,
    pub(super) on_each: Vec<OnEach>,
    pub(super) on_removed: Option<OnRemoved>,
    pub(super) options: ClusterOptions,
    pub(super) fleet: Fleet,
}

/// Makes a controller for a cluster.
pub(super) type OnEach = Box<dyn Fn(&Cluster, WorkerLane) -> ManagedController + Send + Sync>;

impl Members {
    /// Whether there are clusters besides the manager's own.
    pub(super) fn are_wanted(&self) -> bool {
        !self.providers.is_empty()
    }

    /// What the providers watch.
    pub(super) fn paths(&self) -> impl Iterator<Item = String> {
        self.providers.iter().flat_map(|provider| provider.paths().iter().cloned())
    }

    /// What runs on all clusters. `hub`: the client of the manager. `stop_limit`: how long it may take to stop.
    pub(super) fn into_run(
        self,
        hub: Client,
        assignments: Option<&Assignments>,
        streaming_lists: bool,
        stop_limit: Duration,
    ) -> FleetRun {
        let make_work = |on_each: OnEach| -> MakeWork {
            let assignments = assignments.cloned();
            Arc::new(move |cluster, lane| {
                // A cluster is assigned as a whole.
                let assignments = assignments.as_ref().map(|all| all.all_as(&cluster.name().to_string()));
                work_of(on_each(cluster, lane), cluster, assignments, streaming_lists)
            })
        };
        let make = self.on_each.into_iter().map(make_work).collect();
        let Self { providers, on_removed, options, fleet, .. } = self;
        let limit = options.limit_of_clean_up();
        let clean_up = on_removed.map(|removed| clean_up(removed, assignments.cloned(), limit));
        FleetRun { hub, providers, make, clean_up, options, fleet, stop_limit }
    }
}

fn work_of(
    controller: ManagedController,
    cluster: &Cluster,
    assignments: Option<Assignments>,
    streaming_lists: bool,
) -> Work {
    let ManagedController { name, monitor, run, .. } = controller;
    let faults = Arc::new(Faults::default());
    let noted = Arc::clone(&faults);
    let surroundings = Surroundings {
        assignments,
        caches: Vec::new(), // those of the hub: it may be away
        streaming_lists,
        refusals: Refusals::new(cluster.client().default_namespace()),
        watch_errors: Some(Box::new(move |error: &watcher::Error| noted.note(error, Instant::now()))),
    };
    let look = move || Look {
        synced: monitor.is_synced() && monitor.shows_present_clusters(),
        fault: faults.present(&monitor.snapshot().watches, Instant::now()),
    };
    let span = tracing::info_span!("cluster", cluster.name = %cluster.name());
    Work {
        name,
        look: Box::new(look),
        run: Box::new(move |stop| run(surroundings, stop).instrument(span).boxed()),
    }
}

/// How long a fault counts without being noted again, while any watch fails. One that lasts is noted at each attempt.
const LASTS: Duration = Duration::from_secs(120);

/// What errors of watches say of the cluster, by the text of the error, which names the collection, and when they said it last.
#[derive(Default)]
struct Faults(Mutex<BTreeMap<String, (Fault, Instant)>>);

impl Faults {
    /// Returns whether the log has the error as a change of the cluster's state. Of missing permissions it has the first only, and there
    /// may be several.
    fn note(&self, error: &watcher::Error, now: Instant) -> bool {
        let Some(fault) = fault_of(error) else { return false };
        let is_forbidden = matches!(fault, Fault::Forbidden(_));
        let is_known = self.0.lock().insert(error.to_string(), (fault, now)).is_some();
        is_known || !is_forbidden
    }

    /// A missing permission, or else the last fault: a watch that works, or fails for a reason that is no fault, hides none of another.
    fn present(&self, watches: &[WatchSnapshot], now: Instant) -> Option<Fault> {
        let mut faults = self.0.lock();
        let one_fails = watches.iter().any(fails);
        faults.retain(|_, (_, noted)| one_fails && now.saturating_duration_since(*noted) < LASTS);
        let worst =
            faults.values().max_by_key(|(fault, noted)| (matches!(fault, Fault::Forbidden(_)), *noted));
        worst.map(|(fault, _)| fault.clone())
    }
}

/// Whether the last thing that a watch has seen is an error.
fn fails(watch: &WatchSnapshot) -> bool {
    watch.last_error_age.is_some_and(|error| watch.last_event_age.is_none_or(|event| error < event))
}

/// What an error of a watch says of the cluster.
fn fault_of(error: &watcher::Error) -> Option<Fault> {
    let class = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => ErrorClass::of(error),
        watcher::Error::WatchError(status) => ErrorClass::of_status(status),
        watcher::Error::NoResourceVersion => return None,
    };
    fault_of_class(&class, ErrorChain(error).to_string())
}
