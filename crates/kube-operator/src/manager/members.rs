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
use std::sync::Arc;
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

    /// What runs on all clusters. `hub`: the client of the manager.
    pub(super) fn into_run(
        self,
        hub: Client,
        assignments: Option<&Assignments>,
        streaming_lists: bool,
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
        FleetRun { hub, providers, make, clean_up, options, fleet }
    }
}

fn work_of(
    controller: ManagedController,
    cluster: &Cluster,
    assignments: Option<Assignments>,
    streaming_lists: bool,
) -> Work {
    let ManagedController { name, monitor, run, .. } = controller;
    let last_fault = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&last_fault);
    let surroundings = Surroundings {
        assignments,
        caches: Vec::new(), // those of the hub: it may be away
        streaming_lists,
        refusals: Refusals::new(cluster.client().default_namespace()),
        watch_errors: Some(Box::new(move |error: &watcher::Error| {
            let fault = fault_of(error);
            let is_of_cluster = fault.is_some(); // then the log has it as a change of the cluster's state
            *noted.lock() = fault;
            is_of_cluster
        })),
    };
    let look = move || {
        let fails = monitor.snapshot().watches.iter().any(fails);
        Look { synced: monitor.is_synced(), fault: last_fault.lock().clone().filter(|_| fails) }
    };
    let span = tracing::info_span!("cluster", cluster.name = %cluster.name());
    Work {
        name,
        look: Box::new(look),
        run: Box::new(move |stop| run(surroundings, stop).instrument(span).boxed()),
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
