//! Controllers on many clusters: what a manager runs on each of them.

use super::{
    controllers::{ManagedController, Surroundings},
    faults::Faults,
    permissions::{NeededRequests, Refusals},
    removal::{OnRemoved, clean_up},
    selected::while_selected,
    triggering::TriggersHub,
};
use crate::clusters::{Cluster, ClusterOptions, Clusters, Fleet, FleetRun, Look, MakeWork, Work};
use futures::FutureExt;
use kube_client::Client;
use kube_core::Selector;
use kube_runtime::{
    controller::{Assignments, WorkerLane},
    reflector::Dictionaries,
    watcher,
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

/// The name of what runs the clusters.
pub(super) const CLUSTERS: &str = "the clusters";

/// The clusters of a manager besides its own.
#[derive(Default)]
pub(super) struct Members {
    pub(super) providers: Vec<Clusters>,
    pub(super) on_each: Vec<OnEach>,
    /// Names of controllers, and the labels that clusters must have for them.
    pub(super) only_on: Vec<(String, Selector)>,
    /// What of each has objects of the hub reconciled.
    pub(super) triggers: Vec<TriggersHub>,
    /// What the program writes on each.
    pub(super) writes: Vec<WritesOnEach>,
    pub(super) on_removed: Option<OnRemoved>,
    pub(super) options: ClusterOptions,
    pub(super) fleet: Fleet,
    /// How long it may take until another replica has what one that has crashed had.
    pub(super) hand_over: Duration,
}

/// A controller that runs on each cluster.
#[derive(Clone)]
pub(super) struct OnEach {
    pub(super) name: Arc<str>,
    pub(super) make: Arc<MakeController>,
}

/// Makes a controller for a cluster.
type MakeController = dyn Fn(&Cluster, WorkerLane) -> ManagedController + Send + Sync;

/// What the program writes on a cluster, in words, and the requests of that.
pub(super) type WritesOnEach = Arc<dyn Fn(&Cluster) -> (String, NeededRequests) + Send + Sync>;

impl Members {
    /// Whether there are clusters besides the manager's own.
    pub(super) fn are_wanted(&self) -> bool {
        !self.providers.is_empty()
    }

    /// What the providers watch.
    pub(super) fn paths(&self) -> impl Iterator<Item = String> {
        self.providers.iter().flat_map(|provider| provider.paths().iter().cloned())
    }

    /// The name of a controller for which clusters are selected, and that is none of them.
    pub(super) fn unknown_name(&self) -> Option<&str> {
        let mut names = self.only_on.iter().map(|(name, _)| name.as_str());
        names.find(|name| self.on_each.iter().all(|each| *each.name != **name))
    }

    /// That of two things that run on members: metrics and stores tell them apart by name.
    pub(super) fn duplicate_name(&self) -> Option<&Arc<str>> {
        let triggers = self.triggers.iter().map(|triggers| &triggers.name);
        let mut names: Vec<_> = self.on_each.iter().map(|each| &each.name).chain(triggers).collect();
        names.sort();
        names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }

    /// What runs on all clusters. `hub`: the client of the manager. `stop_limit`: how long it may take to stop.
    pub(super) fn into_run(
        self,
        hub: Client,
        assignments: Option<&Assignments>,
        streaming_lists: bool,
        stop_limit: Duration,
    ) -> FleetRun {
        let Self { providers, on_each, only_on, triggers, on_removed, options, fleet, hand_over, .. } = self;
        let limit = options.limit_of_stop();
        let make_work = |OnEach { name, make }: OnEach| -> MakeWork {
            let selectors = only_on.iter().filter(|(of, _)| **of == *name);
            let selectors: Arc<[Selector]> = selectors.map(|(_, selector)| selector.clone()).collect();
            let assignments = assignments.cloned();
            Arc::new(move |cluster, lane| {
                // A cluster is assigned as a whole.
                let assignments = assignments.as_ref().map(|all| all.all_as(&cluster.name().to_string()));
                let (make, of) = (Arc::clone(&make), cluster.clone());
                let work = move || {
                    let controller = of.contributor().scope(|| make(&of, lane.clone()));
                    work_of(controller, &of, assignments.clone(), streaming_lists)
                };
                match selectors.is_empty() {
                    true => work(),
                    false => while_selected(Arc::clone(&name), cluster, Arc::clone(&selectors), limit, work),
                }
            })
        };
        let watch = |triggers: TriggersHub| -> MakeWork {
            Arc::new(move |cluster, _of_controllers| (triggers.make)(cluster).work)
        };
        let make = on_each.into_iter().map(make_work).chain(triggers.into_iter().map(watch)).collect();
        let clean_up = on_removed.map(|removed| clean_up(removed, assignments.cloned(), limit, hand_over));
        let dictionaries = Dictionaries::default();
        FleetRun { hub, providers, make, clean_up, options, fleet, dictionaries, stop_limit }
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
    let look = move || {
        let synced = monitor.is_synced() && monitor.shows_present_clusters();
        Look { synced, fault: faults.present(&monitor.snapshot().watches, synced) }
    };
    let span = tracing::info_span!("cluster", cluster.name = %cluster.name());
    let store = cluster.forget_store_at_end(&name);
    let run = move |stop, reconciles: &TaskTracker| {
        let running = run(surroundings, stop, reconciles);
        async move {
            let _store = store;
            running.await
        }
        .instrument(span)
        .boxed()
    };
    Work { name, look: Box::new(look), run: Box::new(run) }
}
