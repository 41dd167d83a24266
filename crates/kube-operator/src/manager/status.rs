//! What the debug page and the health checks show.

use super::replicas::Replica;
use crate::{
    health::{Check, Health, Probe},
    leader_election::State,
    metrics,
};
use kube_runtime::controller::{Monitor, ProgressLimits, Snapshot};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, MutexGuard};

/// The state of a manager. Clones are the same.
#[derive(Clone)]
pub(super) struct Status {
    monitors: Arc<Mutex<BTreeMap<Arc<str>, Monitor>>>,
    pub(super) replica: Arc<OnceLock<Replica>>,
    /// The result of the readiness check `manager`.
    readiness: Arc<Mutex<Result<(), &'static str>>>,
}

impl Status {
    /// Not ready, as the readiness check `manager` of `health` shows from now on.
    pub(super) fn new(health: &Health) -> Self {
        let readiness = Arc::new(Mutex::new(Err("the start of the manager has not finished")));
        let shown = Arc::clone(&readiness);
        let ready = move || *shown.lock();
        health.add(Probe::Ready, Check::new("manager", ready));
        Self { monitors: Arc::default(), replica: Arc::default(), readiness }
    }

    pub(super) fn set_readiness(&self, readiness: Result<(), &'static str>) {
        *self.readiness.lock() = readiness;
    }

    /// With checks in `health`. That of the readiness of an optional one succeeds: a kind that cannot be listed would take the webhooks of
    /// all others away.
    pub(super) fn add(
        &self,
        (name, monitor): (&Arc<str>, &Monitor),
        is_optional: bool,
        health: &Health,
        limits: &ProgressLimits,
    ) {
        const NOT_SYNCED: &str = "the caches are not in sync";
        self.monitors().insert(Arc::clone(name), monitor.clone());
        let (synced, progress, limits) = (monitor.clone(), monitor.clone(), limits.clone());
        let check = format!("controller-{name}");
        let missing = move || (!synced.is_synced()).then_some(NOT_SYNCED);
        let ready = match is_optional {
            true => {
                Check::new(check.clone(), || Ok::<_, String>(())).note(move || missing().map(str::to_owned))
            }
            false => Check::new(check.clone(), move || missing().map_or(Ok(()), Err)),
        };
        health.add(Probe::Ready, ready);
        health.add(Probe::Live, Check::new(check, move || progress.progress(&limits)));
    }

    pub(super) fn remove(&self, name: &str, health: &Health) {
        if let Some(monitor) = self.monitors().remove(name) {
            metrics::remove_controller(&monitor.name());
        }
        for probe in [Probe::Ready, Probe::Live] {
            health.remove(probe, &format!("controller-{name}"));
        }
    }

    fn monitors(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Monitor>> {
        self.monitors.lock()
    }

    pub(super) fn snapshots(&self) -> Vec<Snapshot> {
        let monitors: Vec<Monitor> = self.monitors().values().cloned().collect();
        monitors.iter().map(Monitor::snapshot).collect()
    }

    pub(super) fn replicas(&self) -> Value {
        match self.replica.get() {
            Some(Replica::Elected(elector)) => {
                let (state, leader) = match elector.state() {
                    State::Leading => ("leading", Some(elector.identity().to_owned())),
                    State::Standby { holder } => ("standby", holder),
                    _ => ("stopped", None),
                };
                json!({
                    "mode": "leader election",
                    "identity": elector.identity(),
                    "leads": elector.is_leader(),
                    "state": state,
                    "leader": leader,
                })
            }
            Some(Replica::Member(membership)) => json!({
                "mode": "sharding",
                "identity": membership.identity(),
                "members": membership.members().join(", "),
            }),
            Some(Replica::Alone) => json!({ "mode": "alone" }),
            None => json!({ "mode": "starting" }),
        }
    }
}
